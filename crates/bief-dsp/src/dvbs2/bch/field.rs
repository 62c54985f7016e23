//! Arithmetic in GF(2^m), with tables of logarithms.

use std::sync::LazyLock;

/// A finite field GF(2^m), m = 14, 15 or 16. Elements are polynomials in α over GF(2), bit k standing for α^k,
/// where α is a root of the field's primitive polynomial.
pub(super) struct Field {
    /// α^i for i in 0..order.
    exp: Box<[u16]>,
    /// i such that α^i is the index; entry 0 is meaningless.
    log: Box<[u16]>,
    /// m.
    degree: u32,
    /// Number of elements other than 0: 2^m - 1.
    order: u32,
}

/// GF(2^16), the field of normal FECFRAMEs: 1 + x² + x³ + x⁵ + x¹⁶.
static NORMAL: LazyLock<Field> = LazyLock::new(|| Field::new(0x1002D));
/// GF(2^15), the field of medium FECFRAMEs: 1 + x² + x³ + x⁵ + x¹⁵.
static MEDIUM: LazyLock<Field> = LazyLock::new(|| Field::new(0x802D));
/// GF(2^14), the field of short FECFRAMEs: 1 + x + x³ + x⁵ + x¹⁴.
static SHORT: LazyLock<Field> = LazyLock::new(|| Field::new(0x402B));

impl Field {
    /// The field of normal FECFRAMEs; its tables are made at the first call.
    pub(super) fn normal() -> &'static Field {
        &NORMAL
    }

    /// The field of medium FECFRAMEs; its tables are made at the first call.
    pub(super) fn medium() -> &'static Field {
        &MEDIUM
    }

    /// The field of short FECFRAMEs; its tables are made at the first call.
    pub(super) fn short() -> &'static Field {
        &SHORT
    }

    fn new(polynomial: u32) -> Field {
        let degree = polynomial.ilog2();
        let order = (1 << degree) - 1;
        let mut exp = vec![0; order as usize].into_boxed_slice();
        let mut log = vec![0; order as usize + 1].into_boxed_slice();
        let mut element = 1;
        for i in 0..order {
            exp[i as usize] = element as u16;
            log[element as usize] = i as u16;
            element <<= 1;
            if element > order {
                element ^= polynomial;
            }
        }
        debug_assert_eq!(element, 1, "the polynomial is primitive");
        Field { exp, log, degree, order }
    }

    /// m, the number of bits of an element.
    pub(super) fn degree(&self) -> u32 {
        self.degree
    }

    /// Number of elements other than 0.
    pub(super) fn order(&self) -> u32 {
        self.order
    }

    /// α^i for i < order.
    #[inline]
    pub(super) fn exp(&self, i: u32) -> u16 {
        self.exp[i as usize]
    }

    /// The i < order such that α^i is `a`, which is not 0.
    #[inline]
    pub(super) fn log(&self, a: u16) -> u32 {
        u32::from(self.log[usize::from(a)])
    }

    /// i modulo the order, for i < 2 order.
    #[inline]
    pub(super) fn reduce(&self, i: u32) -> u32 {
        if i >= self.order { i - self.order } else { i }
    }

    #[inline]
    pub(super) fn multiply(&self, a: u16, b: u16) -> u16 {
        if a == 0 || b == 0 {
            return 0;
        }
        self.exp(self.reduce(self.log(a) + self.log(b)))
    }

    /// a / b, where b is not 0.
    #[inline]
    pub(super) fn divide(&self, a: u16, b: u16) -> u16 {
        if a == 0 {
            return 0;
        }
        self.exp(self.reduce(self.log(a) + self.order - self.log(b)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Product by shifts and additions.
    fn slow_product(mut a: u32, b: u32, polynomial: u32) -> u32 {
        let degree = polynomial.ilog2();
        let mut product = 0;
        for k in 0..degree {
            if b >> k & 1 == 1 {
                product ^= a;
            }
            a <<= 1;
            if a >> degree == 1 {
                a ^= polynomial;
            }
        }
        product
    }

    #[test]
    fn products_equal_shifts_and_additions() {
        for (field, polynomial) in [(Field::normal(), 0x1002D), (Field::short(), 0x402B)] {
            let mut a = 1u32;
            for _ in 0..20_000 {
                a = a.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let (x, y) = (a >> 16 & field.order(), a & field.order());
                let product = field.multiply(x as u16, y as u16);
                assert_eq!(u32::from(product), slow_product(x, y, polynomial));
                if y != 0 {
                    assert_eq!(field.divide(product, y as u16), x as u16);
                }
            }
        }
    }
}
