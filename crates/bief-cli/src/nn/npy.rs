//! Headers of NumPy's arrays (`.npy`): version 1 to 3, f32, the lowest byte first, in C order.

use std::io::{self, Read};

const MAGIC: &[u8] = b"\x93NUMPY";
/// Bytes of the longest header that is read.
const LONGEST: usize = 1 << 16;
/// Bytes of a header that is written: room for any number of frames.
pub(super) const WRITTEN: usize = 320;

/// Reads the header, behind which the numbers lie; answers the shape, and how many bytes the header has.
pub(super) fn read_header(reader: &mut impl Read) -> io::Result<(Vec<usize>, u64)> {
    let wrong = |reason: &str| io::Error::new(io::ErrorKind::InvalidData, format!("as a NumPy array, {reason}"));
    let mut start = [0; 8];
    reader.read_exact(&mut start).map_err(|_| wrong("it is too short"))?;
    if !start.starts_with(MAGIC) {
        return Err(wrong("it does not begin as one"));
    }
    let mut len = [0; 4];
    let of_len = if start[6] == 1 { 2 } else { 4 };
    reader.read_exact(&mut len[..of_len])?;
    let len = u32::from_le_bytes(len) as usize;
    if len > LONGEST {
        return Err(wrong("its header is too long"));
    }
    let mut text = vec![0; len];
    reader.read_exact(&mut text).map_err(|_| wrong("its header ends early"))?;
    let text = String::from_utf8_lossy(&text);
    let value = |key: &str| {
        let quoted = [format!("'{key}':"), format!("\"{key}\":")];
        let at = quoted.iter().find_map(|quoted| text.find(quoted.as_str()).map(|at| at + quoted.len()));
        at.map(|at| text[at..].trim_start()).ok_or_else(|| wrong(&format!("its header has no `{key}`")))
    };
    let dtype: String = value("descr")?.chars().skip(1).take_while(|&c| c != '\'' && c != '"').collect();
    if dtype != "<f4" {
        return Err(wrong(&format!("it has elements of `{dtype}`: save it as float32")));
    }
    if !value("fortran_order")?.starts_with("False") {
        return Err(wrong("it is in Fortran order: save it in C order"));
    }
    let shape = value("shape")?.strip_prefix('(').and_then(|rest| rest.split_once(')')).map(|(shape, _)| shape);
    let numbers = shape.map(|shape| shape.split(',').map(str::trim).filter(|number| !number.is_empty()));
    let dims: Option<Vec<usize>> = numbers.and_then(|numbers| numbers.map(|number| number.parse().ok()).collect());
    let dims = dims.ok_or_else(|| wrong("its shape is no list of numbers"))?;
    Ok((dims, (8 + of_len + len) as u64))
}

/// A header for an array of this shape, always as long.
pub(super) fn header(dims: &[usize]) -> [u8; WRITTEN] {
    let dims: String = dims.iter().map(|dim| format!("{dim}, ")).collect();
    let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({dims}), }}");
    let mut header = [b' '; WRITTEN];
    header[..MAGIC.len()].copy_from_slice(MAGIC);
    header[6..8].copy_from_slice(&[1, 0]);
    header[8..10].copy_from_slice(&(WRITTEN as u16 - 10).to_le_bytes());
    header[10..10 + text.len()].copy_from_slice(text.as_bytes());
    header[WRITTEN - 1] = b'\n';
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        for dims in [&[][..], &[7], &[1, 3, 224, 224], &[usize::MAX; 9]] {
            assert_eq!(read_header(&mut &header(dims)[..]).unwrap(), (dims.to_vec(), WRITTEN as u64));
        }
    }

    #[test]
    fn what_numpy_writes_is_read() {
        let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 10), }\n";
        let whole = |version: u8, text: &str| {
            let len = (text.len() as u32).to_le_bytes();
            [MAGIC, &[version, 0], &len[..if version == 1 { 2 } else { 4 }], text.as_bytes()].concat()
        };
        assert_eq!(read_header(&mut &whole(1, text)[..]).unwrap(), (vec![2, 10], 10 + text.len() as u64));
        assert_eq!(read_header(&mut &whole(2, text)[..]).unwrap(), (vec![2, 10], 12 + text.len() as u64));
        for (wrong, words) in [
            (whole(1, &text.replace("<f4", "<f8")), "elements of `<f8`"),
            (whole(1, &text.replace("False", "True")), "Fortran"),
            (whole(1, &text.replace("10", "ten")), "no list of numbers"),
            (whole(1, "{}"), "no `descr`"),
            (b"raw numbers, long enough".to_vec(), "begin as one"),
            (whole(1, text)[..30].to_vec(), "ends early"),
        ] {
            let told = read_header(&mut &wrong[..]).unwrap_err().to_string();
            assert!(told.contains(words), "{told}");
        }
    }
}
