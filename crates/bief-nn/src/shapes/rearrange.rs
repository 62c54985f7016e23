//! Operators that arrange elements anew, or take dimensions away.

use super::{Fact, Used, shown};
use crate::onnx::{MOST_INTS, Node};

/// A number of a dimension, counted from the end where it is negative.
fn axis(axis: i64, rank: usize) -> Result<usize, String> {
    let from_front = if axis < 0 { axis.checked_add(rank as i64) } else { Some(axis) };
    let found = from_front.and_then(|axis| usize::try_from(axis).ok()).filter(|&axis| axis < rank);
    found.ok_or_else(|| format!("its axis {axis} is none of {rank} dimensions"))
}

fn product(dims: &[usize]) -> usize {
    dims.iter().fold(1, |all: usize, &dim| all.saturating_mul(dim))
}

pub(super) fn flattened(node: &Node, used: &Used<'_>) -> Result<Fact, String> {
    let first = used.get(0)?;
    let rank = first.dims.len();
    let at = match node.int("axis", 1) {
        behind if behind == rank as i64 => rank,
        within => axis(within, rank)?,
    };
    let (before, behind) = first.dims.split_at(at);
    Fact::new(first.element, vec![product(before), product(behind)])
}

pub(super) fn joined(node: &Node, used: &Used<'_>) -> Result<Fact, String> {
    let first = used.get(0)?;
    let at = axis(node.int("axis", 1), first.dims.len())?;
    let mut dims = first.dims.clone();
    let mut ints = first.ints.clone();
    for index in 1..used.0.len() {
        let next = used.get(index)?;
        let fits = next.dims.len() == dims.len()
            && next.dims.iter().zip(&dims).enumerate().all(|(index, (next, dim))| index == at || next == dim);
        if !fits {
            return Err(format!("shapes {} and {} cannot be joined", shown(&first.dims), shown(&next.dims)));
        }
        dims[at] = dims[at].saturating_add(next.dims[at]);
        ints = ints.zip(next.ints.as_ref()).map(|(ints, next)| [&ints[..], next].concat());
        // What is joined to itself again and again would be long.
        ints = ints.filter(|ints| ints.len() <= MOST_INTS);
    }
    Ok(Fact { ints, ..Fact::new(first.element, dims)? })
}

/// `None` where the shape is computed as the network runs.
pub(super) fn reshaped(node: &Node, used: &Used<'_>) -> Result<Option<Fact>, String> {
    let first = used.get(0)?;
    let Some(wanted) = &used.get(1)?.ints else { return Ok(None) };
    let keeps_zeros = node.int("allowzero", 0) != 0;
    let mut dims = Vec::new();
    let mut open = None;
    for (index, &dim) in wanted.iter().enumerate() {
        dims.push(match dim {
            0 if !keeps_zeros => *first.dims.get(index).ok_or("its shape repeats a dimension that is not there")?,
            -1 if open.replace(index).is_none() => 1,
            dim => usize::try_from(dim).map_err(|_| format!("its shape is {wanted:?}"))?,
        });
    }
    let (there, told) = (product(&first.dims), product(&dims));
    if let Some(open) = open {
        dims[open] = there.checked_div(told).unwrap_or(0);
    }
    if product(&dims) != there {
        return Err(format!("{} cannot have the shape {wanted:?}", shown(&first.dims)));
    }
    Fact::new(first.element, dims).map(Some)
}

pub(super) fn transposed(node: &Node, used: &Used<'_>) -> Result<Fact, String> {
    let first = used.get(0)?;
    let rank = first.dims.len();
    let order = match node.ints("perm") {
        None => (0..rank).rev().collect(),
        Some(order) => order.iter().map(|&index| axis(index, rank)).collect::<Result<Vec<_>, _>>()?,
    };
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(0..rank) {
        return Err(format!("its perm {order:?} is no order of {rank} dimensions"));
    }
    Fact::new(first.element, order.iter().map(|&index| first.dims[index]).collect())
}

/// The dimensions that an attribute or, since operators of version 13 or later, an input names; `None` where they are not known yet.
fn axes<'n>(node: &'n Node, used: &'n Used<'_>) -> Option<Option<&'n [i64]>> {
    match (node.ints("axes"), used.optional(1)) {
        (Some(axes), _) => Some(Some(axes)),
        (None, Some(fact)) => fact.ints.as_deref().map(Some),
        (None, None) => Some(None),
    }
}

pub(super) fn squeezed(node: &Node, used: &Used<'_>) -> Result<Option<Fact>, String> {
    let first = used.get(0)?;
    let Some(axes) = axes(node, used) else { return Ok(None) };
    let rank = first.dims.len();
    let dims = if node.operator == "Unsqueeze" {
        let axes = axes.ok_or("it names no axes")?;
        let rank = rank + axes.len();
        let new = axes.iter().map(|&one| axis(one, rank)).collect::<Result<Vec<_>, _>>()?;
        let mut old = first.dims.iter();
        let dims: Option<Vec<usize>> =
            (0..rank).map(|index| if new.contains(&index) { Some(1) } else { old.next().copied() }).collect();
        dims.ok_or_else(|| format!("its axes {axes:?} name one twice"))?
    } else {
        let gone = match axes {
            Some(axes) => axes.iter().map(|&one| axis(one, rank)).collect::<Result<Vec<_>, _>>()?,
            None => (0..rank).filter(|&index| first.dims[index] == 1).collect(),
        };
        if let Some(&index) = gone.iter().find(|&&index| first.dims[index] != 1) {
            return Err(format!("dimension {index} of {} is not 1", shown(&first.dims)));
        }
        (0..rank).filter(|index| !gone.contains(index)).map(|index| first.dims[index]).collect()
    };
    Ok(Some(Fact { ints: first.ints.clone(), ..Fact::new(first.element, dims)? }))
}

pub(super) fn reduced(node: &Node, used: &Used<'_>, opset: u64) -> Result<Option<Fact>, String> {
    let first = used.get(0)?;
    let Some(axes) = axes(node, used) else { return Ok(None) };
    let rank = first.dims.len();
    let gone = match axes {
        Some(axes) if !axes.is_empty() => axes.iter().map(|&one| axis(one, rank)).collect::<Result<Vec<_>, _>>()?,
        _ if opset >= 13 && node.int("noop_with_empty_axes", 0) != 0 => Vec::new(),
        _ => (0..rank).collect(),
    };
    let keeps = node.int("keepdims", 1) != 0;
    let kept = (0..rank).filter(|index| keeps || !gone.contains(index));
    let dims = kept.map(|index| if gone.contains(&index) { 1 } else { first.dims[index] }).collect();
    Fact::new(first.element, dims).map(Some)
}

pub(super) fn padded(node: &Node, used: &Used<'_>) -> Result<Option<Fact>, String> {
    let first = used.get(0)?;
    let pads = match (node.ints("pads"), used.optional(1)) {
        (Some(pads), _) => pads,
        (None, Some(Fact { ints: Some(pads), .. })) if used.optional(3).is_none() => &pads[..],
        _ => return Ok(None),
    };
    let rank = first.dims.len();
    if pads.len() != 2 * rank {
        return Err(format!("its pads are {} numbers for {rank} dimensions", pads.len()));
    }
    let dim = |index: usize| {
        let pads = pads[index].checked_add(pads[index + rank]);
        let dim = pads.and_then(|pads| (first.dims[index] as i64).checked_add(pads));
        dim.and_then(|dim| usize::try_from(dim).ok()).ok_or_else(|| format!("it is padded by {pads:?}"))
    };
    Fact::new(first.element, (0..rank).map(dim).collect::<Result<_, _>>()?).map(Some)
}
