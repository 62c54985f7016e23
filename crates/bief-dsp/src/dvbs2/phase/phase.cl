// What of phase.rs is to be done for every symbol: powers summed over blocks, and symbols turned back. What lies between, one walk
// along some hundred sums, is left to a core.

#pragma OPENCL FP_CONTRACT OFF

#define BLOCK 64
#define HEADER 90

// Of a frame: where its symbols begin, how many there are, where its results begin (of `powers`) or its segments (of `turn`), how many
// these are; the power.
typedef uint8 frame_t;
// Of a segment: its first symbol; the phase there and its slope, floats, in cycles.
typedef uint4 segment_t;

float2 times(float2 a, float2 b) {
    return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// 1 / sqrt(x) to 0.2 %, as planar.rs has it.
float recip_sqrt(float x) {
    float guess = as_float(0x5F375A86u - (as_uint(x) >> 1));
    return guess * (-0.5f * x * guess * guess + 1.5f);
}

// Sums, over blocks behind the header, of the M-th powers of symbols brought to modulus 1, times their modulus: a block is a work-group.
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void powers(__global const float2 *symbols, __global const frame_t *frames, __global float2 *sums, uint groups) {
    __local float2 parts[BLOCK];
    frame_t frame = frames[get_group_id(0) / groups];
    uint block = get_group_id(0) % groups, item = get_local_id(0);
    if (block >= frame.s3) return;
    float2 symbol = symbols[frame.s0 + HEADER + block * BLOCK + item];
    float energy = symbol.x * symbol.x + symbol.y * symbol.y;
    float scale = recip_sqrt(energy);
    float2 power = symbol * scale;
    for (uint m = frame.s4; m > 1; m >>= 1) power = times(power, power);
    parts[item] = power * (energy * scale);
    for (uint less = BLOCK / 2; less > 0; less >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < less) parts[item] += parts[item + less];
    }
    if (item == 0) sums[frame.s2 + block] = parts[0];
}

// Copies what is known beforehand to one place: `runs` tells of each item's group where it reads, where it writes, and how much.
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void collect(__global const float2 *symbols, __global const uint4 *runs, __global float2 *known) {
    uint4 run = runs[get_group_id(0)];
    for (uint k = get_local_id(0); k < run.z; k += BLOCK) known[run.y + k] = symbols[run.x + k];
}

// Turns each symbol back by the phase of its segment.
__kernel __attribute__((reqd_work_group_size(BLOCK, 1, 1)))
void turn(__global float2 *symbols, __global const frame_t *frames, __global const segment_t *segments, uint groups) {
    frame_t frame = frames[get_group_id(0) / groups];
    uint place = get_group_id(0) % groups * BLOCK + get_local_id(0);
    if (place >= frame.s1) return;
    // The last segment that begins here or before; the first begins with the frame.
    uint low = frame.s2, high = frame.s2 + frame.s3;
    while (high - low > 1) {
        uint middle = (low + high) / 2;
        if (segments[middle].x <= place) low = middle; else high = middle;
    }
    segment_t segment = segments[low];
    float cycles = as_float(segment.y) + as_float(segment.z) * (float)(place - segment.x);
    float2 back = (float2)(cospi(2.0f * cycles), -sinpi(2.0f * cycles));
    symbols[frame.s0 + place] = times(symbols[frame.s0 + place], back);
}
