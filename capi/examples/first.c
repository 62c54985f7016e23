// A chain of three tasks in C: numbers, their squares on two cores, and what they add up to.

#include "bief.h"

#include <stdio.h>

static int32_t numbers(void *next, bief_slice *sockets, bief_call *call) {
    (void)call;
    float *out = sockets[0].data;
    for (size_t i = 0; i < sockets[0].len; ++i)
        out[i] = (float)(*(int *)next)++;
    return *(int *)next > 6400 ? BIEF_STOP : BIEF_NEXT;
}

static int32_t square(void *state, bief_slice *sockets, bief_call *call) {
    (void)state, (void)call;
    const float *in = sockets[0].data;
    float *out = sockets[1].data;
    for (size_t i = 0; i < sockets[0].len; ++i)
        out[i] = in[i] * in[i];
    return BIEF_NEXT;
}

static int32_t add_up(void *total, bief_slice *sockets, bief_call *call) {
    (void)call;
    const float *in = sockets[0].data;
    for (size_t i = 0; i < sockets[0].len; ++i)
        *(double *)total += in[i];
    return BIEF_NEXT;
}

int main(void) {
    int next = 0;
    double total = 0;
    bief_task source = {.size = sizeof source, .name = "numbers", .sockets = "out 64 x f32", .state = &next, .run = numbers};
    // It remembers nothing from frame to frame: copies of it may share its state, which it has none of.
    bief_task squares = {.size = sizeof squares, .name = "square", .sockets = "in f32, out f32", .run = square, .copy = bief_share};
    bief_task sink = {.size = sizeof sink, .name = "add up", .sockets = "in f32", .state = &total, .run = add_up};

    bief_chain *chain = NULL;
    bief_wire x, y;
    char *report = NULL;
    int32_t status = bief_chain_new(&chain);
    if (status == BIEF_OK)
        status = bief_chain_add(chain, &source, NULL, 0, &x, 1);
    if (status == BIEF_OK)
        status = bief_chain_stage(chain, "squares", 2);
    if (status == BIEF_OK)
        status = bief_chain_add(chain, &squares, &x, 1, &y, 1);
    if (status == BIEF_OK)
        status = bief_chain_stage(chain, "out", 1);
    if (status == BIEF_OK)
        status = bief_chain_add(chain, &sink, &y, 1, NULL, 0);
    if (status == BIEF_OK)
        status = bief_chain_run(chain, &report);
    if (status == BIEF_OK) {
        printf("%s\nthe squares of 0 to 6399 add up to %.0f\n", report, total);
    } else {
        bief_error error = {.size = sizeof error};
        bief_last_error(&error);
        fprintf(stderr, "%s\n", error.text);
    }
    bief_text_free(report);
    bief_chain_free(chain);
    return status == BIEF_OK ? 0 : 1;
}
