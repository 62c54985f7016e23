//! What is known of a wire beside its element and length, such as a sample rate.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

use crate::chain::Chain;
use crate::dynamic::DynWire;

/// Facts by wire and type.
pub(crate) type Facts = HashMap<(usize, TypeId), Arc<dyn Any + Send + Sync>>;

impl Chain {
    /// Notes a fact about a wire, in the place of one of the same type: what was found in the signal, or follows from how the
    /// wire is made. Whoever builds on the wire can ask for it; frames do not carry it.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use bief::raw::DynWire;
    /// use bief::{Chain, source};
    ///
    /// struct SampleRate(f64);
    ///
    /// let mut chain = Chain::new();
    /// let samples = DynWire::from(&chain.add(source::from_slice(&[0.0; 8], 4), ()));
    /// chain.note(&samples, Arc::new(SampleRate(48e3)));
    /// assert_eq!(chain.fact::<SampleRate>(&samples).unwrap().0, 48e3);
    /// assert!(chain.fact::<u32>(&samples).is_none());
    /// ```
    pub fn note<F: Any + Send + Sync>(&mut self, wire: &DynWire, fact: Arc<F>) {
        if wire.chain == self.id {
            self.facts.insert((wire.socket.wire, TypeId::of::<F>()), fact);
        }
    }

    /// What was noted of this type about a wire.
    pub fn fact<F: Any + Send + Sync>(&self, wire: &DynWire) -> Option<Arc<F>> {
        let fact = self.facts.get(&(wire.socket.wire, TypeId::of::<F>())).filter(|_| wire.chain == self.id)?;
        Arc::clone(fact).downcast().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source;

    #[test]
    fn a_fact_is_of_one_wire_of_one_chain() {
        let mut chain = Chain::new();
        let [a, b] = [1, 2].map(|len| DynWire::from(&chain.add(source::from_slice(&[0_u8; 2], len), ())));
        chain.note(&a, Arc::new(3_u32));
        assert_eq!((chain.fact::<u32>(&a).as_deref(), chain.fact::<u32>(&b)), (Some(&3), None));
        chain.note(&a, Arc::new(4_u32));
        assert_eq!(chain.fact::<u32>(&a).as_deref(), Some(&4));
        let mut other = Chain::new();
        other.note(&a, Arc::new(5_u32));
        assert_eq!((other.fact::<u32>(&a), chain.fact::<u32>(&a).as_deref()), (None, Some(&4)));
    }
}
