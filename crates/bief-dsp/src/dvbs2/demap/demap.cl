// The demappers of demap.rs and vl_snr.rs, count for count: an item makes the LLRs of one payload symbol, or one LLR of a VL-SNR frame.

#pragma OPENCL FP_CONTRACT OFF

#define ITEMS 64
#define HEADER 90
// Payload symbols between two pilot blocks, and symbols from one of these to the next.
#define RUN 1440
#define PERIOD 1476
#define SIDE 128
#define NONE 0xFFFFFFFFu
#define CERTAIN 0xFFFFFFFEu

// Of a frame: where its symbols begin, where its LLRs begin, then two floats: what nearness is multiplied by, and what symbols are before.
// A VL-SNR frame has the first alone.
typedef uint4 frame_t;
// Of a kind: rule; payload symbols; whether there are pilots; symbols that carry bits; bits of a label; LLRs; LLRs of one label bit from
// symbol to symbol. Then where the LLRs of each label bit begin.
typedef struct { uint rule, symbols, pilots, rows, width, bits, stride, nothing, starts[8]; } kind_t;
// Twice the parts of points and their energies; sine and cosine of 22.5 degrees; of a table cells per unit, what is added before, and the
// label bits that tell the sign of either part, or more than there are.
typedef struct { float twice_re[16], twice_im[16], energy[16], sine, cosine, per_unit, reach, of_re, of_im; } points_t;

#define QPSK 0
#define PSK8 1
#define APSK16 2
#define TABLE 3

// Rounds to the nearest count, ties to even; 0 if not a number.
char quantise(float x) {
    return isnan(x) ? (char)0 : (char)rint(clamp(x, -127.0f, 127.0f));
}

// Undoes quarter turns.
float2 turn_back(float2 y, uint turns) {
    switch (turns & 3) {
        case 0: return y;
        case 1: return (float2)(y.y, -y.x);
        case 2: return -y;
        default: return (float2)(-y.y, y.x);
    }
}

// Half of the squared distances' difference along one axis of 8PSK.
float along(float x, float across, float sine, float cosine) {
    return copysign(fmax(fabs(x) * (cosine + sine) - fabs(across) * (cosine - sine), fabs(x) * (2.0f * sine)), x);
}

void put(__global char *llrs, __global const kind_t *kind, uint symbol, uint bit, float value) {
    uint place = kind->starts[bit] + kind->stride * symbol;
    if (symbol < kind->rows && place < kind->bits) llrs[place] = quantise(value);
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void demap(
    __global const float2 *symbols, __global const frame_t *frames, __global const kind_t *kind, __global const points_t *points,
    __global const uchar8 *cells, __global const uchar *rotations, __global char *llrs, uint groups
) {
    frame_t frame = frames[get_group_id(0) / groups];
    uint symbol = get_group_id(0) % groups * ITEMS + get_local_id(0);
    if (symbol >= kind->symbols) return;
    uint place = kind->pilots ? symbol / RUN * PERIOD + symbol % RUN : symbol;
    float2 y = turn_back(symbols[frame.x + HEADER + place], rotations[place]) * as_float(frame.w);
    float scale = as_float(frame.z);
    llrs += frame.y;
    switch (kind->rule) {
        case QPSK:
            put(llrs, kind, symbol, 0, y.x * scale);
            put(llrs, kind, symbol, 1, y.y * scale);
            break;
        case PSK8: {
            float s = points->sine, c = points->cosine;
            float u = y.x * c + y.y * s, v = y.y * c - y.x * s;
            put(llrs, kind, symbol, 0, (fabs(u) - fabs(v)) * (c - s) * scale);
            put(llrs, kind, symbol, 1, along(u, v, s, c) * scale);
            put(llrs, kind, symbol, 2, along(v, u, s, c) * scale);
            break;
        }
        case APSK16: {
            float near[4], left[4], below[4];
            for (uint i = 0; i < 4; i++) {
                float re = fabs(y.x) * points->twice_re[4 * i], im = fabs(y.y) * points->twice_im[4 * i];
                near[i] = re + im - points->energy[4 * i];
                left[i] = im - re - points->energy[4 * i];
                below[i] = re - im - points->energy[4 * i];
            }
            float nearest = fmax(fmax(near[0], near[2]), fmax(near[1], near[3]));
            float of_left = fmax(fmax(left[0], left[1]), fmax(left[2], left[3]));
            float of_below = fmax(fmax(below[0], below[1]), fmax(below[2], below[3]));
            put(llrs, kind, symbol, 0, (fmax(near[0], near[1]) - fmax(near[2], near[3])) * scale);
            put(llrs, kind, symbol, 1, (fmax(near[0], near[2]) - fmax(near[1], near[3])) * scale);
            put(llrs, kind, symbol, 2, copysign(nearest - of_left, y.x) * scale);
            put(llrs, kind, symbol, 3, copysign(nearest - of_below, y.y) * scale);
            break;
        }
        default: {
            bool is_quadrant = points->reach == 0.0f;
            float re = is_quadrant ? fabs(y.x) : y.x + points->reach, im = is_quadrant ? fabs(y.y) : y.y + points->reach;
            uint column = clamp(re * points->per_unit, 0.0f, SIDE - 1.0f), row = clamp(im * points->per_unit, 0.0f, SIDE - 1.0f);
            uint cell = isnan(re + im) ? SIDE * SIDE : row * SIDE + column;
            for (uint bit = 0; bit < kind->width; bit++) {
                // Exact: factors of tables have eight significant bits.
                float value = floor((float)((__global const char *)(cells + cell))[bit] * scale + 0.5f);
                if ((float)bit == points->of_re) value *= copysign(1.0f, y.x);
                if ((float)bit == points->of_im) value *= copysign(1.0f, y.y);
                put(llrs, kind, symbol, bit, value);
            }
        }
    }
}

// A VL-SNR frame: `sources` tells of each LLR which of the bits that are sent it is, or that it is certain or unknown; `places` where in
// the frame each data symbol is. A bit is half of a symbol of QPSK, or `times` symbols of BPSK.
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void demap_vl_snr(
    __global const float2 *symbols, __global const frame_t *frames, __global const uint *sources, __global const uint *places,
    __global const uchar *rotations, __global char *llrs, uint bits, uint times, uint groups
) {
    frame_t frame = frames[get_group_id(0) / groups];
    uint bit = get_group_id(0) % groups * ITEMS + get_local_id(0);
    if (bit >= bits) return;
    uint source = sources[bit];
    llrs += frame.y;
    if (source == NONE || source == CERTAIN) {
        llrs[bit] = source == CERTAIN ? 127 : 0;
        return;
    }
    const float root_half = 0.70710678118654752440f;
    float value = 0.0f;
    if (times == 0) {
        uint place = places[source / 2];
        float2 y = turn_back(symbols[frame.x + place], rotations[place - HEADER]) * (4.0f * root_half);
        value = source % 2 ? y.y : y.x;
    } else {
        for (uint k = 0; k < times; k++) {
            uint number = source * times + k, place = places[number];
            float2 y = symbols[frame.x + place];
            float part = 4.0f * (number % 2 ? y.y * root_half - y.x * root_half : y.x * root_half + y.y * root_half);
            value += rotations[place - HEADER] & 1 ? -part : part;
        }
    }
    llrs[bit] = quantise(as_float(frame.z) * value);
}
