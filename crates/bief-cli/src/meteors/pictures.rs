//! Pictures: masks that are read; clips and stacks that are written.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use bief_vision::{Area, Size, Video, VideoSettings};

use crate::failure::Failure;
use crate::parts::put;
use crate::status::Status;

/// The part of a picture that lies in an area.
pub(super) fn crop(picture: &[u8], area: &Area) -> Vec<u8> {
    let rows = picture.chunks_exact(area.of.width()).skip(area.top).take(area.height);
    rows.flat_map(|row| &row[area.left..area.left + area.width]).copied().collect()
}

/// Writes grey pictures as y4m.
pub(super) fn write_clip(path: &Path, pictures: &[Vec<u8>], area: &Area, rate: f64) -> bief::Result<()> {
    let (Area { width, height, .. }, thousandths) = (area, (1000.0 * rate).round());
    let written = put(path, |out| {
        writeln!(out, "YUV4MPEG2 W{width} H{height} F{thousandths}:1000 Ip A1:1 Cmono")?;
        pictures.iter().try_for_each(|picture| out.write_all(b"FRAME\n").and_then(|()| out.write_all(picture)))
    });
    written.map_err(bief::Error::from_source)
}

/// Writes a picture as PNG.
pub(super) fn write_png(
    path: &Path,
    pixels: &[u8],
    width: usize,
    height: usize,
    color: png::ColorType,
) -> bief::Result<()> {
    let written = put(path, |out| {
        let mut encoder = png::Encoder::new(out, width as u32, height as u32);
        encoder.set_color(color);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        Ok(writer.write_image_data(pixels).and_then(|()| writer.finish())?)
    });
    written.map_err(bief::Error::from_source)
}

/// The pixels that a mask ignores: those that are brighter than middle grey.
pub(super) fn mask(path: &Path, size: Size) -> Result<Arc<[bool]>, Failure> {
    let told = |error: &dyn std::fmt::Display| {
        Failure::new(format!("--ignore {}: {error}", path.display())).with(Status::NoInput)
    };
    let mut file = BufReader::new(File::open(path).map_err(|error| told(&error))?);
    let mut start = [0; 2];
    file.read_exact(&mut start).map_err(|error| told(&error))?;
    let (of, grey) = if start == *b"P5" {
        let mut video = Video::open(path, VideoSettings::default()).map_err(|error| told(&error))?;
        let mut grey = vec![0; video.size().pixels()];
        video.read(&mut grey).map_err(|error| told(&error))?;
        (video.size(), grey)
    } else {
        let file = File::open(path).map_err(|error| told(&error))?;
        read_png(BufReader::new(file)).map_err(|error| told(&error))?
    };
    if of != size {
        return Err(told(&format!("it is {of}, and frames are {size}: both must be of one size")));
    }
    Ok(grey.into_iter().map(|grey| grey > 127).collect())
}

/// Size and brightness of each pixel.
fn read_png(file: impl std::io::BufRead + std::io::Seek) -> Result<(Size, Vec<u8>), Box<dyn std::error::Error>> {
    let mut decoder = png::Decoder::new(file);
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info()?;
    let size = Size::new(reader.info().width as usize, reader.info().height as usize)?;
    let mut bytes = vec![0; reader.output_buffer_size().ok_or("too large")?];
    let info = reader.next_frame(&mut bytes)?;
    let samples = info.color_type.samples();
    let colours = if samples < 3 { 1 } else { 3 };
    let grey = |pixel: &[u8]| pixel[..colours].iter().copied().max().unwrap_or(0);
    Ok((size, bytes[..info.buffer_size()].chunks_exact(samples).map(grey).collect()))
}
