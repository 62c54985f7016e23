// The layered A-min* decoder of decode.rs, bit for bit, but for the last checks: it goes on with layers until all hold.
// A frame is a work-group, an item a lane of 360.
//
// A posterior lies where its bit is (groups of information, then of parity), not turned; a block's lane m is the m-th bit behind that of
// lane 0, round the group. Between the last two groups is room for the bit that lane 0 of layer 0 lacks, which is certainly 0.

#define GROUP 360
#define MAX_MESSAGE 25
// Blocks of a layer, and of a code, at most.
#define MOST 32
#define MOST_BLOCKS 1024
// Layers that are looked at before it is asked whether one of them does not hold; at first it is one.
#define LOOKED 8

// Of a block: where the first bit of its group is, and the bit of lane 0.
typedef uint2 block_t;
// Of a layer: its first block, one past its primaries, one past its last, and whether all checks are looked at behind it.
typedef uint4 layer_t;

int saturated(int value) {
    return clamp(value, -128, 127);
}

// What two bits know together, by the magnitude of what each knows; the corrections of check.rs.
int sum_of(int a, int b) {
    int less = min(a, b), difference = max(a, b) - less;
    return max(less - (difference < 3) - (difference < 8), 0);
}

// The message to a bit that knows `value` by itself.
int message_to(int value, int sign, int least, int to_least, int to_others) {
    int magnitude = abs(value) == least ? to_least : to_others;
    return (sign ^ value) < 0 ? -magnitude : magnitude;
}

uint place_of(block_t block, uint lane) {
    uint bit = lane + block.y;
    return block.x + min(bit, bit - GROUP);
}

// Whether all checks hold: every item looks at its lane of all layers, from that on which did not hold the last time. `bad` is for all
// items of the group.
bool is_codeword(
    __global const char *posteriors, __constant layer_t *layers, __local const block_t *blocks, uint q, uint lane, uint *doubtful,
    __local int *bad
) {
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (lane == 0) *bad = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint r = *doubtful;
    for (uint looked = 0, next = 1; looked < q; looked = next, next = min(looked + LOOKED, q)) {
        uint from = r;
        int odd = 0;
        for (; looked < next; looked++) {
            int sign = 0;
            for (uint k = layers[r].x; k < layers[r].z; k++) sign ^= posteriors[place_of(blocks[k], lane)];
            odd |= sign;
            r = r + 1 < q ? r + 1 : 0;
        }
        if (odd < 0) *bad = 1;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (*bad) {
            *doubtful = from;
            return false;
        }
    }
    return true;
}

// `scratch` has for each frame 360 messages of every block, and nldpc + 1 posteriors; `starts` where its LLRs begin; `told` two numbers:
// iterations, and whether it converged.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void decode(
    __global const char *llrs, __global const uint *starts, __global uchar *bits, __global int *told, __global char *scratch,
    __constant layer_t *layers, __global const block_t *all_blocks,
    uint kldpc, uint nldpc, uint q, uint missing, uint room, uint max_iterations
) {
    __local int bad;
    // What each bit of a layer knows without its check: an item reads only what it wrote.
    __local char extrinsics[MOST * GROUP];
    __local block_t blocks[MOST_BLOCKS];
    uint lane = get_local_id(0);
    size_t frame = get_group_id(0);
    llrs += starts[frame];
    bits += frame * (kldpc / 8);
    uint count = layers[q - 1].z;
    __global char *messages = scratch + frame * room + lane;
    __global char *posteriors = scratch + frame * room + count * GROUP;
    __global char *lacking = posteriors + nldpc - GROUP;

    for (uint k = lane; k < count; k += GROUP) blocks[k] = all_blocks[k];
    for (uint k = 0; k < count; k++) messages[k * GROUP] = 0;
    for (uint bit = lane; bit < kldpc; bit += GROUP) posteriors[bit] = llrs[bit];
    // Parity bit r + q m is bit m of group r.
    for (uint r = 0; r < q; r++) posteriors[kldpc + r * GROUP + lane + (r == q - 1)] = llrs[kldpc + r + q * lane];
    if (lane == 0) *lacking = 127;

    uint iterations = 0, doubtful = 0;
    bool converged = is_codeword(posteriors, layers, blocks, q, lane, &doubtful, &bad);
    while (!converged && iterations < max_iterations) {
        iterations++;
        for (uint r = 0; r < q && !converged; r++) {
            layer_t layer = layers[r];
            __global char *message = messages + layer.x * GROUP;
            __local char *extrinsic = extrinsics + lane;
            int least = 255, others = 255, sign = 0;
            #pragma unroll 4
            for (uint k = layer.x; k < layer.z; k++, message += GROUP, extrinsic += GROUP) {
                int value = saturated(posteriors[place_of(blocks[k], lane)] - *message);
                *extrinsic = value;
                sign ^= value;
                int magnitude = abs(value);
                others = sum_of(others, max(least, magnitude));
                least = min(least, magnitude);
            }
            int to_least = min(others, MAX_MESSAGE), to_others = min(sum_of(others, least), MAX_MESSAGE);
            barrier(CLK_GLOBAL_MEM_FENCE);
            message = messages + layer.x * GROUP;
            extrinsic = extrinsics + lane;
            #pragma unroll 4
            for (uint k = layer.x; k < layer.y; k++, message += GROUP, extrinsic += GROUP) {
                int value = *extrinsic, next = message_to(value, sign, least, to_least, to_others);
                posteriors[place_of(blocks[k], lane)] = saturated(value + next);
                *message = next;
            }
            for (uint k = layer.y; k < layer.z; k++, message += GROUP, extrinsic += GROUP) {
                // A further block of a group adds to what the one before has written.
                barrier(CLK_GLOBAL_MEM_FENCE);
                int next = message_to(*extrinsic, sign, least, to_least, to_others);
                __global char *posterior = posteriors + place_of(blocks[k], lane);
                *posterior = saturated(*posterior + next - *message);
                *message = next;
            }
            if (lane == 0 && missing >= layer.x && missing < layer.y) {
                messages[missing * GROUP] = 0;
                *lacking = 127;
            }
            barrier(CLK_GLOBAL_MEM_FENCE);
            if (layer.w) converged = is_codeword(posteriors, layers, blocks, q, lane, &doubtful, &bad);
        }
    }

    // Signs of the information bits, the first in the highest place.
    for (uint byte = lane; byte < kldpc / 8; byte += GROUP) {
        uchar packed = 0;
        for (uint bit = 0; bit < 8; bit++) packed = packed << 1 | (posteriors[8 * byte + bit] < 0);
        bits[byte] = packed;
    }
    if (lane == 0) {
        told[2 * frame] = iterations;
        told[2 * frame + 1] = converged;
    }
}
