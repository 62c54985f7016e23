use std::path::Path;

use super::*;
use crate::dvbs2::random::Random;

fn codes() -> Vec<(FrameSize, Rate, Bch)> {
    [FrameSize::Normal, FrameSize::Short]
        .into_iter()
        .flat_map(|size| Rate::ALL.map(|rate| (size, rate)))
        .filter_map(|(size, rate)| Some((size, rate, Bch::new(size, rate)?)))
        .collect()
}

fn random_codeword(bch: &Bch, random: &mut Random) -> Vec<u8> {
    let mut codeword = random.bytes(bch.codeword_bytes());
    let (message, parity) = codeword.split_at_mut(bch.message_bytes());
    bch.encode(message, parity);
    codeword
}

fn flip(codeword: &mut [u8], bit: usize) {
    codeword[bit / 8] ^= 0x80 >> (bit % 8);
}

/// Remainder bit by bit, as bits from the highest power down.
fn naive_parity(message: &[u8], generator: &[u8]) -> Vec<u8> {
    let parity = generator.len() - 1;
    let mut bits: Vec<u8> = message
        .iter()
        .flat_map(|byte| (0..8).rev().map(move |k| byte >> k & 1))
        .chain(std::iter::repeat_n(0, parity))
        .collect();
    for i in 0..bits.len() - parity {
        if bits[i] == 1 {
            for (bit, g) in bits[i..].iter_mut().zip(generator) {
                *bit ^= g;
            }
        }
    }
    bits.split_off(bits.len() - parity)
}

/// Product of polynomials over GF(2), bits from the highest power down.
fn product(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut c = vec![0; a.len() + b.len() - 1];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            c[i + j] ^= x & y;
        }
    }
    c
}

fn bits_of_hex(hex: &str) -> Vec<u8> {
    let bits: Vec<u8> = hex
        .bytes()
        .flat_map(|digit| {
            let value = (digit as char).to_digit(16).unwrap() as u8;
            (0..4).rev().map(move |k| value >> k & 1)
        })
        .collect();
    bits.into_iter().skip_while(|bit| *bit == 0).collect()
}

/// Generators in hexadecimal: bit k is the coefficient of x^k.
const GENERATORS: [(FrameSize, usize, &str); 5] = [
    (FrameSize::Normal, 8, "11C07255F712797BD19FC6D7504F9662B"),
    (FrameSize::Normal, 10, "160150CEDFC2A331F6A785703EFD12301B8BB6591"),
    (FrameSize::Normal, 12, "14E260E83845C511C50CF2CD8DC350889034785F7660255E7"),
    (FrameSize::Short, 12, "14062DBEA9869B262CD23A39069528FE7D7D11905A5"),
    (FrameSize::Medium, 12, "1A84BB7DB0018D0982039BF6A085335635742FC3D8410B"),
];

#[test]
fn generators_are_the_products_of_the_minimal_polynomials() {
    for (size, t, hex) in GENERATORS {
        let minimal = match size {
            FrameSize::Normal => &MINIMAL_NORMAL,
            FrameSize::Short => &MINIMAL_SHORT,
            FrameSize::Medium => &MINIMAL_MEDIUM,
        };
        let expected = bits_of_hex(hex);
        let naive = minimal[..t].iter().fold(vec![1], |g, m| product(&g, &bits_of_hex(&format!("{m:x}"))));
        assert_eq!(naive, expected);
        let fast: Vec<u8> = to_bytes(&generator(&minimal[..t]))
            .iter()
            .flat_map(|byte| (0..8).rev().map(move |k| byte >> k & 1))
            .collect();
        let degree = expected.len() - 1;
        assert_eq!(fast[..degree], expected[1..]);
        assert!(fast[degree..].iter().all(|bit| *bit == 0));
    }
}

#[test]
fn minimal_polynomials_vanish_at_the_odd_powers_of_alpha() {
    for (field, minimal) in
        [(Field::normal(), MINIMAL_NORMAL), (Field::short(), MINIMAL_SHORT), (Field::medium(), MINIMAL_MEDIUM)]
    {
        for (i, polynomial) in minimal.into_iter().enumerate() {
            assert_eq!(polynomial.ilog2(), field.degree());
            let power = 2 * i as u32 + 1;
            let value = (0..=field.degree())
                .filter(|k| polynomial >> k & 1 == 1)
                .fold(0, |sum, k| sum ^ field.exp(k * power % field.order()));
            assert_eq!(value, 0);
        }
    }
}

#[test]
fn parity_equals_division_bit_by_bit() {
    let mut random = Random::new(1);
    for (size, _, bch) in codes() {
        let (_, _, hex) = GENERATORS.into_iter().find(|(s, t, _)| *s == size && *t == bch.correctable()).unwrap();
        let codeword = random_codeword(&bch, &mut random);
        let (message, parity) = codeword.split_at(bch.message_bytes());
        let parity: Vec<u8> = parity.iter().flat_map(|byte| (0..8).rev().map(move |k| byte >> k & 1)).collect();
        assert_eq!(parity, naive_parity(message, &bits_of_hex(hex)));
        for level in Level::all() {
            let mut same = codeword.clone();
            same[bch.message_bytes()..].fill(0);
            bch.clone().with_level(level).complete(&mut same);
            assert_eq!(same, codeword, "{level}");
        }
    }
}

#[test]
fn every_weight_up_to_t_is_corrected() {
    let mut random = Random::new(2);
    for (size, rate, bch) in codes() {
        let sent = random_codeword(&bch, &mut random);
        for weight in 0..=bch.correctable() {
            for _ in 0..if weight == 0 { 1 } else { 4 } {
                let mut received = sent.clone();
                for bit in random.distinct(weight, 8 * sent.len()) {
                    flip(&mut received, bit);
                }
                let outcome = bch.decode(&mut received);
                assert_eq!(outcome, Outcome::Corrected(weight), "{size} {rate}");
                assert!(received == sent, "{size} {rate}, weight {weight}");
            }
        }
    }
}

#[test]
fn single_errors_are_corrected_at_every_position() {
    let mut random = Random::new(3);
    let bch = Bch::new(FrameSize::Short, Rate::R1_4).unwrap();
    let sent = random_codeword(&bch, &mut random);
    for bit in 0..8 * sent.len() {
        let mut received = sent.clone();
        flip(&mut received, bit);
        assert_eq!(bch.decode(&mut received), Outcome::Corrected(1));
        assert!(received == sent, "bit {bit}");
    }
}

#[test]
fn the_first_and_last_bits_are_corrected_together() {
    let mut random = Random::new(4);
    for (size, rate, bch) in codes() {
        let sent = random_codeword(&bch, &mut random);
        let n = 8 * sent.len();
        let mut received = sent.clone();
        for i in 0..bch.correctable() / 2 {
            flip(&mut received, i);
            flip(&mut received, n - 1 - i);
        }
        let outcome = bch.decode(&mut received);
        assert_eq!(outcome, Outcome::Corrected(bch.correctable()));
        assert!(received == sent, "{size} {rate}");
    }
}

#[test]
fn more_errors_are_flagged_and_the_word_left_alone() {
    let mut random = Random::new(5);
    for (size, rate, bch) in codes() {
        let sent = random_codeword(&bch, &mut random);
        let t = bch.correctable();
        for weight in (t + 1..t + 6).chain([30, 100, 1000]) {
            let mut received = sent.clone();
            for bit in random.distinct(weight, 8 * sent.len()) {
                flip(&mut received, bit);
            }
            let before = received.clone();
            // With these seeds none is taken for another codeword.
            let outcome = bch.decode(&mut received);
            assert_eq!(outcome, Outcome::Uncorrectable, "{size} {rate} {weight}");
            assert!(received == before);
        }
    }
}

#[test]
fn whatever_is_called_corrected_is_a_codeword() {
    let mut random = Random::new(6);
    for (_, _, bch) in codes() {
        for fill in [0x00, 0x01, 0x55, 0xFF] {
            let mut word = vec![fill; bch.codeword_bytes()];
            if bch.decode(&mut word) != Outcome::Uncorrectable {
                assert_eq!(bch.decode(&mut word), Outcome::Corrected(0));
            }
        }
        for _ in 0..20 {
            let mut word = random.bytes(bch.codeword_bytes());
            assert_eq!(bch.decode(&mut word), Outcome::Uncorrectable);
        }
    }
}

#[test]
fn the_split_test_agrees_with_a_search_of_the_whole_field() {
    let field = Field::short();
    let bch = Bch::new(FrameSize::Short, Rate::R8_9).unwrap();
    let mut random = Random::new(7);
    let mut seen = [0, 0];
    for case in 0..60 {
        let degree = 1 + case % 4;
        let mut coefficients = [0; MAX_T + 1];
        coefficients[0] = 1;
        for c in &mut coefficients[1..=degree] {
            *c = random.next() as u16 & 0x3FFF;
        }
        coefficients[degree] |= 1;
        let roots = (0..field.order())
            .filter(|&k| {
                let value = (0..=degree as u32).fold(0, |sum, j| {
                    let power = field.exp(j * k % field.order());
                    sum ^ field.multiply(coefficients[j as usize], power)
                });
                value == 0
            })
            .count();
        let locator = Locator { coefficients, degree };
        assert_eq!(bch.splits(&locator), roots == degree);
        seen[usize::from(roots == degree)] += 1;
    }
    assert!(seen.iter().all(|count| *count > 10), "{seen:?}");
}

/// The vectors of independent encoders, or `None` with a note.
fn vector(name: &str) -> Option<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/dvbs2/vectors").join(name);
    if !path.exists() {
        println!("skipped: {} not found", path.display());
        return None;
    }
    Some(std::fs::read(path).unwrap())
}

#[test]
fn parity_equals_that_of_an_independent_encoder() {
    for (set, size, rate) in [
        ("qpsk_8_9_short", FrameSize::Short, Rate::R8_9),
        ("8psk_3_5_short", FrameSize::Short, Rate::R3_5),
        ("16apsk_8_9_short", FrameSize::Short, Rate::R8_9),
        ("qpsk_1_2_normal", FrameSize::Normal, Rate::R1_2),
        ("32apsk_4_5_normal", FrameSize::Normal, Rate::R4_5),
    ] {
        let Some(messages) = vector(&format!("{set}/2_scrambled.bin")) else {
            return;
        };
        let mut codewords = vector(&format!("{set}/3_bch.bin")).unwrap();
        let bch = Bch::new(size, rate).unwrap();
        let frames = messages.len() / bch.message_bytes();
        assert_eq!(frames * bch.codeword_bytes(), codewords.len());
        assert!(frames > 0);
        for (message, codeword) in messages.chunks(bch.message_bytes()).zip(codewords.chunks_mut(bch.codeword_bytes()))
        {
            let mut parity = vec![0; bch.codeword_bytes() - bch.message_bytes()];
            bch.encode(message, &mut parity);
            assert!(codeword == [message, &parity].concat(), "{set}");
            assert_eq!(bch.decode(codeword), Outcome::Corrected(0));
        }
    }
}
