//! What is known of a wire beside its element and length, such as a sample rate.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

/// Facts by wire and type.
#[derive(Default)]
pub(crate) struct Facts(HashMap<(usize, TypeId), Arc<dyn Any + Send + Sync>>);

impl Facts {
    /// Notes a fact about the wire of that number, in the place of one of the same type.
    pub(crate) fn note<F: Any + Send + Sync>(&mut self, wire: usize, fact: Arc<F>) {
        self.0.insert((wire, TypeId::of::<F>()), fact);
    }

    /// What was noted of this type.
    pub(crate) fn get<F: Any + Send + Sync>(&self, wire: usize) -> Option<Arc<F>> {
        Arc::clone(self.0.get(&(wire, TypeId::of::<F>()))?).downcast().ok()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::raw::DynWire;
    use crate::{Chain, source};

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
