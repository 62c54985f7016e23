//! Which PLFRAMEs a transmitter sends one after the other, as a text.

use bief_dsp::dvbs2::{FrameSize, Modcod, ParseModcodError, Pls, VlSnr};

/// A text that names no PLFRAMEs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{item}`: {reason}")]
pub struct FrameListError {
    /// The item that is wrong.
    item: String,
    reason: Reason,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Reason {
    #[error(transparent)]
    Modcod(#[from] ParseModcodError),
    #[error("say the FECFRAME size behind the MODCOD, as in qpsk-1/2:normal or qpsk-1/2:short:pilots")]
    NoSize,
    #[error("there is no `{0}`: behind the MODCOD comes normal or short, then pilots or nothing")]
    Unknown(String),
    #[error("{0} {1}: DVB-S2 defines no such PLFRAME")]
    Undefined(Modcod, FrameSize),
}

/// Reads a list of PLFRAMEs: each is `dummy`, or MODCOD and FECFRAME size, with `:pilots` behind if it has them, or a kind of VL-SNR
/// frame, as `bpsk-1/5:medium`.
///
/// # Errors
/// An item that is no PLFRAME; the error names it.
///
/// ```
/// use bief_radio::dvbs2::frame_list;
/// let frames = frame_list("qpsk-1/2:normal:pilots, 8psk-3/5:short, dummy")?;
/// assert_eq!(frames.iter().map(|pls| pls.value()).collect::<Vec<_>>(), [17, 50, 0]);
/// let error = frame_list("qpsk-1/2:normal,8psk-9/10:short").unwrap_err();
/// assert_eq!(error.to_string(), "`8psk-9/10:short`: 8PSK 9/10 short: DVB-S2 defines no such PLFRAME");
/// # Ok::<(), bief_radio::dvbs2::FrameListError>(())
/// ```
pub fn frame_list(text: &str) -> Result<Vec<Pls>, FrameListError> {
    let items = text.split(',').map(str::trim);
    items.map(|item| frame(item).map_err(|reason| FrameListError { item: item.to_owned(), reason })).collect()
}

fn frame(item: &str) -> Result<Pls, Reason> {
    if item.eq_ignore_ascii_case("dummy") {
        return Ok(Pls::DUMMY);
    }
    if let Ok(kind) = item.parse::<VlSnr>() {
        return Ok(Pls::of_vl_snr(kind));
    }
    let mut parts = item.split(':').map(str::trim);
    let modcod: Modcod = parts.next().unwrap_or("").parse()?;
    let size = match parts.next().ok_or(Reason::NoSize)? {
        "normal" => FrameSize::Normal,
        "short" => FrameSize::Short,
        other => return Err(Reason::Unknown(other.to_owned())),
    };
    let pilots = match parts.next() {
        None => false,
        Some("pilots") => true,
        Some(other) => return Err(Reason::Unknown(other.to_owned())),
    };
    if let Some(more) = parts.next() {
        return Err(Reason::Unknown(more.to_owned()));
    }
    Pls::from_parts(modcod, size, pilots).ok_or(Reason::Undefined(modcod, size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_named() {
        for (text, told) in [
            (
                "qpsk-1/2:short,qpsk-7/8:short",
                "`qpsk-7/8:short`: `qpsk-7/8` is no DVB-S2 MODCOD; use one of qpsk-1/4, ",
            ),
            ("qpsk-1/2", "`qpsk-1/2`: say the FECFRAME size behind the MODCOD"),
            ("qpsk-1/2:long", "`qpsk-1/2:long`: there is no `long`: "),
            ("qpsk-1/2:short:pilot", "`qpsk-1/2:short:pilot`: there is no `pilot`: "),
            ("qpsk-1/2:short:pilots:x", "`qpsk-1/2:short:pilots:x`: there is no `x`: "),
            ("dummy,", "``: `` is no DVB-S2 MODCOD"),
        ] {
            let error = frame_list(text).unwrap_err().to_string();
            assert!(error.starts_with(told), "{text}: {error}");
        }
    }
}
