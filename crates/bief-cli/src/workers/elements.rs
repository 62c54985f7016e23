//! Elements of wires that are no plain numbers, as bytes: the same on the machine that reads and on workers.

use bief::Result;
use bief::raw::Dtype;
use bief_dsp::dvbs2::{FrameSync, Pls, SignalLevel};
use bief_pool::Codec;
use bief_radio::dvbs2::Decoding;
use bief_vision::Component;

/// Lets wires of these leave.
pub(super) fn register() -> Result<()> {
    Dtype::register::<[i16; 2]>()?;
    Codec::register::<Pls, 2>("dvbs2.pls", |pls| pls.to_bytes(), |bytes| Pls::from_bytes(*bytes))?;
    Codec::register::<SignalLevel, 8>(
        "dvbs2.signal_level",
        |level| level.to_bytes(),
        |bytes| Some(SignalLevel::from_bytes(*bytes)),
    )?;
    Codec::register::<Decoding, 9>(
        "dvbs2.decoding",
        |decoding| decoding.to_bytes(),
        |bytes| Decoding::from_bytes(*bytes),
    )?;
    Codec::register::<Component, 44>(
        "vision.component",
        |component| component.to_bytes(),
        |bytes| Component::from_bytes(*bytes),
    )?;
    Codec::register::<Option<FrameSync>, 52>("dvbs2.place", place_to_bytes, place_from_bytes)
}

/// A byte that is 1 where there is a place, and the place.
fn place_to_bytes(place: &Option<FrameSync>) -> [u8; 52] {
    let mut bytes = [0; 52];
    if let Some(place) = place {
        bytes[0] = 1;
        bytes[1..].copy_from_slice(&place.to_bytes());
    }
    bytes
}

fn place_from_bytes(bytes: &[u8; 52]) -> Option<Option<FrameSync>> {
    let (is_there, place) = bytes.split_first().expect("there are 52");
    match is_there {
        0 => place.iter().all(|byte| *byte == 0).then_some(None),
        1 => FrameSync::from_bytes(place.try_into().expect("there are 51")).map(Some),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_is_missing_is_told_from_others() {
        assert_eq!(place_from_bytes(&place_to_bytes(&None)), Some(None));
        let place = FrameSync::from_bytes([0; 51]);
        assert_eq!(place_from_bytes(&place_to_bytes(&place)), Some(place));
        assert_eq!(place_from_bytes(&[2; 52]), None);
        assert_eq!(place_from_bytes(&[1; 52]), None);
    }
}
