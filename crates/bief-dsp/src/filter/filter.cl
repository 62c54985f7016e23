// The matched filter of integers.rs, sum for sum: an item makes one output.

#pragma OPENCL FP_CONTRACT OFF

#define ITEMS 64
// Positions between two samples for which there are taps, as a power of two.
#define PHASE_BITS 7

// Of a frame: where its window begins, and its samples; where its places begin, and how many outputs share one; samples from one of
// these to the next; where its outputs begin, and how many there are; what they are multiplied by, a float.
typedef uint8 frame_t;

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void filter(
    __global const short2 *samples, __global const int *places, __global const frame_t *frames, __global const short *taps,
    __global float2 *symbols, uint length, uint centre, uint groups
) {
    frame_t frame = frames[get_group_id(0) / groups];
    uint output = get_group_id(0) % groups * ITEMS + get_local_id(0);
    if (output >= frame.s6) return;
    int place = places[frame.s2 + output / frame.s3];
    long first = (place >> PHASE_BITS) - (long)centre + output % frame.s3 * frame.s4;
    // Samples outside of the window are zero.
    uint from = clamp(-first, 0L, (long)length), end = clamp((long)frame.s1 - first, 0L, (long)length);
    taps += (uint)(place & ((1 << PHASE_BITS) - 1)) * length;
    samples += frame.s0;
    int re = 0, im = 0;
    for (uint tap = from; tap < end; tap++) {
        short2 sample = samples[first + tap];
        re += taps[tap] * sample.x;
        im += taps[tap] * sample.y;
    }
    symbols[frame.s5 + output] = (float2)(re, im) * as_float(frame.s7);
}
