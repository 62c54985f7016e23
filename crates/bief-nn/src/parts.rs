//! The parts of a network that an engine has loaded.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bief::Result;

use crate::engine::{Engine, Part, Port, Session};
use crate::network::NeuralNetwork;

/// A network on an engine, part by part.
pub(crate) struct Parts {
    network: NeuralNetwork,
    engine: Engine,
    loaded: Mutex<HashMap<Range<usize>, Arc<dyn Session>>>,
}

impl Parts {
    pub(crate) fn new(network: NeuralNetwork, engine: Engine) -> Self {
        Self { network, engine, loaded: Mutex::default() }
    }

    pub(crate) fn network(&self) -> &NeuralNetwork {
        &self.network
    }

    /// Some segments, loaded once: rehearsals and runs share them.
    pub(crate) fn session(&self, segments: &Range<usize>) -> Result<Arc<dyn Session>> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = loaded.get(segments) {
            return Ok(Arc::clone(session));
        }
        let session = self.load(segments)?;
        loaded.insert(segments.clone(), Arc::clone(&session));
        Ok(session)
    }

    /// Some segments, loaded for the caller alone.
    pub(crate) fn load(&self, segments: &Range<usize>) -> Result<Arc<dyn Session>> {
        let network = &self.network;
        let piece = network.piece(segments.clone())?;
        let port = |tensor: usize| Port {
            name: network.graph.tensors[tensor].name.clone(),
            dims: network.graph.fact(tensor).map_or_else(Vec::new, |fact| fact.dims.clone()),
        };
        self.engine.session(&Part {
            name: network.name().to_owned(),
            model: network.graph.extract(&piece),
            input: port(piece.input),
            output: port(piece.output),
        })
    }
}
