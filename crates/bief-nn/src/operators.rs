//! The names of ONNX's operators whose shapes are not worked out here: which of them there are is for the engine to say.

const NAMES: &str = "\
    Acos Acosh AffineGrid ArgMax ArgMin Asin Asinh Atan Atanh Attention Bernoulli BitCast BitShift BitwiseAnd \
    BitwiseNot BitwiseOr BitwiseXor BlackmanWindow CastLike CenterCropPad Col2Im Compress ConcatFromSequence \
    Constant ConstantOfShape ConvInteger ConvTranspose Cos Cosh CumProd CumSum DFT DeformConv DepthToSpace \
    DequantizeLinear Det DynamicQuantizeLinear Einsum Expand EyeLike GRU Gather GatherElements GatherND GridSample \
    GroupNormalization HammingWindow HannWindow Hardmax ImageDecoder IsInf IsNaN LSTM MatMulInteger MaxRoiPool \
    MaxUnpool MeanVarianceNormalization MelWeightMatrix Mod Multinomial NegativeLogLikelihoodLoss NonMaxSuppression \
    NonZero Not OneHot Optional OptionalGetElement OptionalHasElement Pad QLinearConv QLinearMatMul QuantizeLinear \
    RMSNormalization RNN RandomNormal RandomNormalLike RandomUniform RandomUniformLike Range ReduceL1 ReduceL2 \
    ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare RegexFullMatch \
    Reshape Resize ReverseSequence RoiAlign RotaryEmbedding STFT Scatter ScatterElements ScatterND SequenceAt \
    SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength Shape Shrink Sin Sinh Size Slice \
    SoftmaxCrossEntropyLoss SpaceToDepth Split SplitToSequence Squeeze StringConcat StringNormalizer StringSplit \
    Swish Tan TensorScatter TfIdfVectorizer Tile TopK Trilu Unique Unsqueeze Upsample";

/// Whether ONNX has an operator of this name.
pub(crate) fn is_known(name: &str) -> bool {
    NAMES.split(' ').any(|known| known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_as_a_whole() {
        assert!(is_known("Resize") && is_known("Upsample") && is_known("Acos"));
        assert!(!is_known("Frobnicate") && !is_known("Res") && !is_known("") && !is_known("Acos Acosh"));
    }
}
