// What of level.rs is to be done for every symbol: moments of a frame.

#pragma OPENCL FP_CONTRACT OFF

// Symbols whose moments are added up in single precision: a work-group.
#define RUN 256

// Of a frame: where its symbols begin, how many there are, where its moments begin, how many of these runs there are.
typedef uint4 frame_t;

// Sums of |y|^2 and of |y|^4.
__kernel __attribute__((reqd_work_group_size(RUN, 1, 1)))
void moments(__global const float2 *symbols, __global const frame_t *frames, __global float2 *sums, uint groups) {
    __local float2 parts[RUN];
    frame_t frame = frames[get_group_id(0) / groups];
    uint run = get_group_id(0) % groups, item = get_local_id(0), place = run * RUN + item;
    if (run >= frame.w) return;
    float2 symbol = place < frame.y ? symbols[frame.x + place] : (float2)(0.0f);
    float power = symbol.x * symbol.x + symbol.y * symbol.y;
    parts[item] = (float2)(power, power * power);
    for (uint less = RUN / 2; less > 0; less >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < less) parts[item] += parts[item + less];
    }
    if (item == 0) sums[frame.z + run] = parts[0];
}
