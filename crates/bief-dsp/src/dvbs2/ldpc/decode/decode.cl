// The layered A-min* decoder of decode.rs, bit for bit: a frame is a work-group, an item a lane of 360.
//
// A posterior lies where its bit is (groups of information, then of parity), not turned; a block's lane m is bit m - shift of its group.

#define GROUP 360
#define MAX_MESSAGE 31

// Of a block: the first bit of its group, and its shift.
typedef uint2 block_t;
// Of a layer: its first block, one past its primaries, one past its last, and whether all checks are looked at behind it.
typedef uint4 layer_t;

// What two bits know together, by the magnitude of what each knows; the corrections of check.rs.
uchar sum_of(uchar a, uchar b) {
    uchar less = min(a, b);
    uchar difference = max(a, b) - less;
    return sub_sat(less, (uchar)(difference < 3 ? 2 : difference < 8 ? 1 : 0));
}

uint place_of(block_t block, uint lane) {
    uint bit = lane + GROUP - block.y;
    return block.x + (bit < GROUP ? bit : bit - GROUP);
}

// Whether all checks hold: every item looks at its lane of all layers. `bad` is for all items of the group.
bool is_codeword(
    __global const char *posteriors, __constant layer_t *layers, __constant block_t *blocks, uint q, uint missing, uint lane,
    __local int *bad
) {
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (lane == 0) *bad = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    int odd = 0;
    for (uint r = 0; r < q; r++) {
        char sign = 0;
        for (uint k = layers[r].x; k < layers[r].z; k++) {
            // The bit that lane 0 of layer 0 lacks is certainly 0.
            if (k == missing && lane == 0) continue;
            sign ^= posteriors[place_of(blocks[k], lane)];
        }
        odd |= sign < 0;
    }
    if (odd) *bad = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    return *bad == 0;
}

// `scratch` has for each frame nldpc posteriors, 360 messages of every block, and 360 extrinsic values of every block of the greatest
// layer; `starts` where its LLRs begin; `told` two numbers: iterations, and whether it converged.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void decode(
    __global const char *llrs, __global const uint *starts, __global uchar *bits, __global int *told, __global char *scratch,
    __constant layer_t *layers, __constant block_t *blocks,
    uint kldpc, uint nldpc, uint q, uint missing, uint room, uint max_iterations
) {
    __local int bad;
    uint lane = get_local_id(0);
    size_t frame = get_group_id(0);
    llrs += starts[frame];
    bits += frame * (kldpc / 8);
    __global char *posteriors = scratch + frame * room;
    uint all = layers[q - 1].z;
    __global char *messages = posteriors + nldpc;
    __global char *extrinsics = messages + all * GROUP;

    for (uint bit = lane; bit < kldpc; bit += GROUP) posteriors[bit] = llrs[bit];
    // Parity bit r + q m is bit m of group r.
    for (uint r = 0; r < q; r++) posteriors[kldpc + r * GROUP + lane] = llrs[kldpc + r + q * lane];
    for (uint k = 0; k < all; k++) messages[k * GROUP + lane] = 0;

    uint iterations = 0;
    bool converged = is_codeword(posteriors, layers, blocks, q, missing, lane, &bad);
    while (!converged && iterations < max_iterations) {
        iterations++;
        for (uint r = 0; r < q && !converged; r++) {
            layer_t layer = layers[r];
            uchar least = 255, others = 255;
            char sign = 0;
            for (uint k = layer.x; k < layer.z; k++) {
                char known = k == missing && lane == 0 ? (char)127 : posteriors[place_of(blocks[k], lane)];
                known = sub_sat(known, messages[k * GROUP + lane]);
                extrinsics[(k - layer.x) * GROUP + lane] = known;
                uchar magnitude = abs(known);
                others = sum_of(others, max(least, magnitude));
                least = min(least, magnitude);
                sign ^= known;
            }
            char to_least = min(others, (uchar)MAX_MESSAGE);
            char to_others = min(sum_of(others, least), (uchar)MAX_MESSAGE);
            barrier(CLK_GLOBAL_MEM_FENCE);
            for (uint k = layer.x; k < layer.z; k++) {
                // A further block of a group adds to what the one before has written.
                bool repeats = k >= layer.y;
                if (repeats) barrier(CLK_GLOBAL_MEM_FENCE);
                if (k == missing && lane == 0) continue;
                char known = extrinsics[(k - layer.x) * GROUP + lane];
                char message = (uchar)abs(known) == least ? to_least : to_others;
                if ((char)(sign ^ known) < 0) message = -message;
                __global char *posterior = posteriors + place_of(blocks[k], lane);
                *posterior = repeats ? add_sat(*posterior, (char)(message - messages[k * GROUP + lane])) : add_sat(known, message);
                messages[k * GROUP + lane] = message;
            }
            barrier(CLK_GLOBAL_MEM_FENCE);
            if (layer.w) converged = is_codeword(posteriors, layers, blocks, q, missing, lane, &bad);
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
