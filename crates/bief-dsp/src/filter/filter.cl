// The matched filter of integers.rs, bit for bit: a work-group makes those outputs that share samples, which it turns as turn.rs does.

#pragma OPENCL FP_CONTRACT OFF

#define ITEMS 64
// Positions between two samples for which there are taps, as a power of two.
#define PHASE_BITS 7
// Samples that outputs share, at most.
#define MOST 1536
// A sample that large is damaged.
#define TOO_LARGE 1e12f

typedef struct {
    // First byte of the window, its samples, their form (0: 16 bits, 1: signed bytes, 2: bytes, 3: floats), the shift of their products.
    uint window, samples, form, shift;
    // The first place, outputs that share one, and samples from one of these to the next.
    uint place, outputs, rate;
    // The first output, how many there are, and how many of them share samples.
    uint output, count, sharing;
    // The first factor of those, the first phasor, and how many samples are turned.
    uint anchor, phasor, turned;
} frame_t;

float sound(float part) {
    return fabs(part) < TOO_LARGE ? part : 0.0f;
}

short whole(float part) {
    return convert_short_rte(clamp(part, -32767.0f, 32767.0f));
}

// A sample without its carrier, but for the phase that the first one has.
short2 turn(__global const uchar *window, uint form, uint shift, uint sample, uint8 by) {
    if (form == 3) {
        float2 parts = ((__global const float2 *)window)[sample];
        float re = sound(parts.x), im = sound(parts.y);
        return (short2)(
            whole(fma(re, as_float(by.s0), fma(im, as_float(by.s1), as_float(by.s4)))),
            whole(fma(re, as_float(by.s2), fma(im, as_float(by.s3), as_float(by.s5))))
        );
    }
    int2 parts = form == 0 ? convert_int2(((__global const short2 *)window)[sample])
        : form == 1 ? convert_int2(((__global const char2 *)window)[sample])
                    : convert_int2(((__global const uchar2 *)window)[sample]);
    short2 to_re = as_short2(by.s0), to_im = as_short2(by.s1);
    int re = parts.x * to_re.x + parts.y * to_re.y + as_int(by.s4);
    int im = parts.x * to_im.x + parts.y * to_im.y + as_int(by.s5);
    return convert_short2_sat((int2)(re >> shift, im >> shift));
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void filter(
    __global const uchar *windows, __global const frame_t *frames, __global const int *places, __global const float2 *anchors,
    __global const uint8 *phasors, __global const short *taps, __global float2 *symbols, uint length, uint centre, uint groups
) {
    __local short2 samples[MOST];
    frame_t frame = frames[get_group_id(0) / groups];
    uint group = get_group_id(0) % groups, item = get_local_id(0), start = group * frame.sharing;
    // All items leave, or none.
    if (start >= frame.count) return;
    int first = (places[frame.place + start / frame.outputs] >> PHASE_BITS) - (int)centre;
    for (uint k = item; k < frame.turned; k += ITEMS) {
        long sample = (long)first + k;
        // Samples outside of the window are zero.
        bool is_there = sample >= 0 && sample < frame.samples;
        samples[k] = is_there ? turn(windows + frame.window, frame.form, frame.shift, sample, phasors[frame.phasor + k]) : (short2)(0);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    float2 gain = anchors[frame.anchor + group];
    uint end = min(start + frame.sharing, frame.count);
    for (uint output = start + item; output < end; output += ITEMS) {
        int place = places[frame.place + output / frame.outputs];
        int begin = (place >> PHASE_BITS) - (int)centre - first + (int)(output % frame.outputs * frame.rate);
        // There are enough samples for the rates that filters take.
        begin = clamp(begin, 0, (int)(frame.turned - length));
        __global const short *tap = taps + (uint)(place & ((1 << PHASE_BITS) - 1)) * length;
        int re = 0, im = 0;
        for (uint k = 0; k < length; k++) {
            short2 sample = samples[begin + k];
            re += tap[k] * sample.x;
            im += tap[k] * sample.y;
        }
        float2 sum = (float2)(re, im);
        symbols[frame.output + output] = (float2)(sum.x * gain.x - sum.y * gain.y, sum.y * gain.x + sum.x * gain.y);
    }
}
