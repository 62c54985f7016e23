//! Operators that move a window: convolutions and pooling.

use super::{Fact, Used, shown};
use crate::onnx::{Attribute, Node};

pub(super) fn convolved(node: &Node, used: &Used<'_>) -> Result<Fact, String> {
    let (first, weights) = (used.first_of_rank(3)?, used.get(1)?);
    if weights.dims.len() != first.dims.len() {
        return Err(format!("weights {} do not fit {}", shown(&weights.dims), shown(&first.dims)));
    }
    let groups = positive(node.int("group", 1), "group")?;
    let (made, read) = (weights.dims[0], weights.dims[1].saturating_mul(groups));
    if read != first.dims[1] || !made.is_multiple_of(groups) {
        let channels = first.dims[1];
        return Err(format!(
            "its weights read {read} channels in {groups} groups and make {made}, and it gets {channels}"
        ));
    }
    if let Some(bias) = used.optional(2)
        && bias.dims != [made]
    {
        return Err(format!("{} is added to {made} channels", shown(&bias.dims)));
    }
    if let Some(kernel) = node.ints("kernel_shape")
        && (kernel.len() != weights.dims.len() - 2
            || kernel.iter().zip(&weights.dims[2..]).any(|(&side, &of_weights)| side != of_weights as i64))
    {
        return Err(format!("its kernel_shape is not that of its weights, {}", shown(&weights.dims)));
    }
    slid(node, first, made, &weights.dims[2..])
}

pub(super) fn pooled(node: &Node, used: &Used<'_>) -> Result<Fact, String> {
    let first = used.first_of_rank(3)?;
    let kernel = node.ints("kernel_shape").ok_or("it has no kernel_shape")?;
    let kernel = kernel.iter().map(|&side| positive(side, "kernel_shape")).collect::<Result<Vec<_>, _>>()?;
    slid(node, first, first.dims[1], &kernel)
}

fn positive(value: i64, name: &str) -> Result<usize, String> {
    usize::try_from(value).ok().filter(|&value| value > 0).ok_or_else(|| format!("its {name} is {value}"))
}

/// The places of a window with these sides.
fn slid(node: &Node, first: &Fact, channels: usize, window: &[usize]) -> Result<Fact, String> {
    let sides = &first.dims[2..];
    let attribute = |name: &str, count: usize, default: i64| match node.ints(name) {
        Some(values) if values.len() == count => Ok(values.to_vec()),
        Some(values) => Err(format!("its {name} has {} numbers, not {count}", values.len())),
        None => Ok(vec![default; count]),
    };
    if window.len() != sides.len() {
        return Err(format!("a window of {} does not fit {}", shown(window), shown(&first.dims)));
    }
    let (strides, dilations) = (attribute("strides", sides.len(), 1)?, attribute("dilations", sides.len(), 1)?);
    let pads = attribute("pads", 2 * sides.len(), 0)?;
    let is_same = match node.attribute("auto_pad") {
        Some(Attribute::Text(text)) => text.starts_with("SAME"),
        _ => false,
    };
    let rounds_up = node.int("ceil_mode", 0) != 0;
    let mut dims = vec![first.dims[0], channels];
    for (index, (&side, &window)) in sides.iter().zip(window).enumerate() {
        let (stride, dilation) = (positive(strides[index], "strides")?, positive(dilations[index], "dilations")?);
        if is_same {
            dims.push(side.div_ceil(stride));
            continue;
        }
        let pad = |index: usize| usize::try_from(pads[index]).map_err(|_| format!("it is padded by {}", pads[index]));
        let padded = side.saturating_add(pad(index)?).saturating_add(pad(index + sides.len())?);
        let reach = window.saturating_sub(1).saturating_mul(dilation).saturating_add(1);
        let Some(steps) = padded.checked_sub(reach) else {
            return Err(format!("a window of {reach} is longer than {padded}, what it slides along"));
        };
        let mut places = steps / stride + 1;
        // A window may begin in what is there or padded before it, not behind.
        if rounds_up
            && !steps.is_multiple_of(stride)
            && places.saturating_mul(stride) < side.saturating_add(pad(index)?)
        {
            places += 1;
        }
        dims.push(places);
    }
    Fact::new(first.element, dims)
}
