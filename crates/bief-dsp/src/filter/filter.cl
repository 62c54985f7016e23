// The matched filter of integers.rs, bit for bit: a work-group makes a tile of outputs, of samples that it turns as turn.rs does.

#pragma OPENCL FP_CONTRACT OFF

#define TILE 64
// Positions between two samples for which there are taps, as a power of two.
#define PHASE_BITS 7
// Samples of a tile at most.
#define MOST 1536
// A sample that large is damaged.
#define TOO_LARGE 1e12f

typedef struct {
    // First byte of the window, its samples, their form (0: 16 bits, 1: signed bytes, 2: bytes, 3: floats), the shift of their products.
    uint window, samples, form, shift;
    // The first place, outputs that share one, and samples from one of these to the next; the first output, and how many there are.
    uint place, outputs, rate, output, count;
    // The first factor of a tile, the first phasor, and how many samples of a tile are turned.
    uint anchor, phasor, turned;
} frame_t;

float sound(float part) {
    return fabs(part) < TOO_LARGE ? part : 0.0f;
}

short whole(float part) {
    return convert_short_rte(clamp(part, -32767.0f, 32767.0f));
}

// A sample without its carrier, but for the phase that its tile has.
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

__kernel __attribute__((reqd_work_group_size(TILE, 1, 1)))
void filter(
    __global const uchar *windows, __global const frame_t *frames, __global const int *places, __global const float2 *anchors,
    __global const uint8 *phasors, __global const short *taps, __global float2 *symbols, uint length, uint centre, uint groups
) {
    __local short2 samples[MOST];
    frame_t frame = frames[get_group_id(0) / groups];
    uint tile = get_group_id(0) % groups, item = get_local_id(0);
    // All items leave, or none.
    if (tile * TILE >= frame.count) return;
    int first = (places[frame.place + tile * TILE / frame.outputs] >> PHASE_BITS) - (int)centre;
    for (uint k = item; k < frame.turned; k += TILE) {
        long sample = (long)first + k;
        // Samples outside of the window are zero.
        bool is_there = sample >= 0 && sample < frame.samples;
        samples[k] = is_there ? turn(windows + frame.window, frame.form, frame.shift, sample, phasors[frame.phasor + k]) : (short2)(0);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint output = tile * TILE + item;
    if (output >= frame.count) return;
    int place = places[frame.place + output / frame.outputs];
    int begin = (place >> PHASE_BITS) - (int)centre - first + (int)(output % frame.outputs * frame.rate);
    // A tile's samples are enough for steps of the rates that filters take.
    begin = clamp(begin, 0, (int)(frame.turned - length));
    taps += (uint)(place & ((1 << PHASE_BITS) - 1)) * length;
    int re = 0, im = 0;
    for (uint tap = 0; tap < length; tap++) {
        short2 sample = samples[begin + tap];
        re += taps[tap] * sample.x;
        im += taps[tap] * sample.y;
    }
    float2 sum = (float2)(re, im), gain = anchors[frame.anchor + tile];
    symbols[frame.output + output] = (float2)(sum.x * gain.x - sum.y * gain.y, sum.y * gain.x + sum.x * gain.y);
}
