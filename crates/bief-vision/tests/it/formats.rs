//! Videos of all forms, whole and damaged.

use std::io::Write;

use bief_vision::{Size, Video, VideoSettings};

fn frames(bytes: &[u8], settings: VideoSettings) -> Result<Vec<Vec<u8>>, String> {
    let mut video = Video::from_memory("test", bytes, settings).map_err(|error| error.to_string())?;
    let mut frames = Vec::new();
    loop {
        let mut frame = vec![0; video.size().pixels()];
        match video.read(&mut frame) {
            Ok(true) => frames.push(frame),
            Ok(false) => return Ok(frames),
            Err(error) => return Err(format!("{} frames, {error}", frames.len())),
        }
    }
}

fn plain(bytes: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    frames(bytes, VideoSettings::default())
}

#[test]
fn y4m_of_all_colours_is_read() {
    for (colour, behind) in [
        ("Cmono", 0),
        ("C420jpeg", 4),
        ("C420mpeg2 XYSCSS=420MPEG2", 4),
        ("C422", 8),
        ("C411", 4),
        ("C444", 12),
        ("C444alpha", 18),
        ("", 4),
    ] {
        let mut video = format!("YUV4MPEG2 W3 H2 F30000:1001 Ip A0:0 {colour} XCOLORRANGE=FULL\n").into_bytes();
        for frame in 0..3_u8 {
            video.extend_from_slice(b"FRAME Ip\n");
            video.extend([10 * frame, 1, 2, 3, 4, 5]);
            video.extend(vec![128; behind]);
        }
        assert_eq!(
            plain(&video).unwrap(),
            (0..3).map(|frame| vec![10 * frame, 1, 2, 3, 4, 5]).collect::<Vec<_>>(),
            "{colour}"
        );
        video.pop();
        let error = plain(&video).unwrap_err();
        assert!(error.starts_with("2 frames, test: frame 2: cut short"), "{error}");
    }
    // Colours come with grey levels from 16 to 235, unless the header says otherwise.
    let narrow = b"YUV4MPEG2 W4 H1 F25:1 C420\nFRAME\n\x00\x10\x7e\xeb\x80\x80\x80\x80".as_slice();
    assert_eq!(plain(narrow).unwrap(), [[0, 0, 128, 255]]);
}

#[test]
fn pgm_pictures_follow_each_other() {
    let pictures = b"P5\n# a comment\n2 2\n255\nabcd\nP5 2 2 255\nefghP5 2 2 15\n\x00\x0f\x07\x1eP5 2 2 65535\n\x00\x00\xff\xff\x80\x00\x00\xff";
    let wanted: [&[u8]; 4] = [b"abcd", b"efgh", &[0, 255, 119, 255], &[0, 255, 127, 0]];
    assert_eq!(plain(pictures).unwrap(), wanted);
    let error = plain(b"P5 2 2 255\nabcdP5 3 1 255\nabc").unwrap_err();
    assert!(error.contains("frame 1: it is 3x1, those before are 2x2"), "{error}");
}

#[test]
fn raw_grey_has_the_size_that_is_told() {
    let settings = VideoSettings { size: Some(Size::new(2, 1).unwrap()), rate: Some(12.5) };
    assert_eq!(frames(b"abcdef", settings).unwrap(), [b"ab", b"cd", b"ef"]);
    let error = frames(b"abcde", settings).unwrap_err();
    assert!(error.starts_with("2 frames, test: frame 2: cut short: 1 of 2 bytes"), "{error}");
}

#[test]
fn what_is_no_video_is_refused_with_a_remedy() {
    for (bytes, words) in [
        (&b""[..], "empty"),
        (b"hello", "give --size"),
        (b"YUV4MPEG2 W2 H2", "no end"),
        (b"YUV4MPEG2 W2 F25:1\n", "no width and height"),
        (b"YUV4MPEG2 W0 H2 F25:1 Cmono\n", "cannot be"),
        (b"YUV4MPEG2 W99999 H99999 F25:1 Cmono\n", "cannot be"),
        (b"YUV4MPEG2 W2 H2 F25:1 C420p10\n", "8 bits"),
        (b"YUV4MPEG2 W2 H2 F25:1 Cmono\nfrom", "no end"),
        (b"YUV4MPEG2 W2 H2 F25:1 Cmono\nFRAMES\nabcd", "no FRAME"),
        (b"P5 2 2 70000\nabcd", "greatest value"),
        (b"P5 2 x 255\nabcd", "where a number is"),
        (b"P5 2 2", "cut short in a header"),
        (b"P5 2 2 255\nabcdjunk", "no PGM"),
    ] {
        let error = plain(bytes).unwrap_err();
        assert!(error.contains(words), "{error}");
    }
    let rate = VideoSettings { rate: Some(f64::NAN), ..VideoSettings::default() };
    assert!(frames(b"P5 1 1 255\na", rate).unwrap_err().contains("frames per second"));
}

#[test]
fn ffmpeg_is_asked_for_what_is_not_read_here() {
    let Ok(status) = std::process::Command::new("ffmpeg").arg("-version").output() else {
        eprintln!("skipped: no ffmpeg");
        return;
    };
    assert!(status.status.success());
    let folder = std::env::temp_dir().join(format!("bief-vision-ffmpeg-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (film, broken) = (folder.join("-film.avi"), folder.join("broken.mp4"));
    let mut encoder = std::process::Command::new("ffmpeg");
    encoder.args([
        "-y",
        "-loglevel",
        "error",
        "-f",
        "rawvideo",
        "-pix_fmt",
        "gray",
        "-s",
        "64x48",
        "-r",
        "20",
        "-i",
        "-",
    ]);
    encoder.args(["-c:v", "ffv1"]).arg(&film).stdin(std::process::Stdio::piped());
    let mut encoder = encoder.spawn().unwrap();
    let picture = |frame: u8| (0..64 * 48).map(|pixel| (pixel % 64) as u8 * 3 + frame).collect::<Vec<u8>>();
    let mut pipe = encoder.stdin.take().unwrap();
    (0..5).for_each(|frame| pipe.write_all(&picture(frame)).unwrap());
    drop(pipe);
    assert!(encoder.wait().unwrap().success());
    let mut video = Video::open(&film, VideoSettings::default()).unwrap();
    assert_eq!((video.size().to_string(), video.rate()), ("64x48".into(), 20.0));
    let mut frame = vec![0; 64 * 48];
    for number in 0..5 {
        assert!(video.read(&mut frame).unwrap() && frame == picture(number), "{number}");
    }
    assert!(!video.read(&mut frame).unwrap());
    std::fs::write(&broken, b"no video at all").unwrap();
    let error = Video::open(&broken, VideoSettings::default()).unwrap_err().to_string();
    assert!(error.contains("broken.mp4") && error.contains("ffmpeg ended with"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}
