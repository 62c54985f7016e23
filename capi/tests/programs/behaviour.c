// What the header says, tried one by one. It is given the folder `data` of the repository.

#include "bief.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHECK(what) \
    do { \
        if (!(what)) { \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
            exit(1); \
        } \
    } while (0)

static bief_error last(void) {
    bief_error error = {sizeof error, 0, 0, NULL, NULL, NULL, 0, NULL};
    CHECK(bief_last_error(&error) == BIEF_OK);
    return error;
}

static void ok_at(int32_t status, int line) {
    if (status < 0) {
        fprintf(stderr, "line %d: %s\n", line, last().text);
        exit(1);
    }
}
#define OK(call) ok_at(call, __LINE__)

static void refused_at(int32_t status, int32_t wanted, const char *text, int line) {
    if (status != wanted || !strstr(last().text, text)) {
        fprintf(stderr, "line %d: status %d and not %d, or no `%s` in: %s\n", line, status, wanted, text, status < 0 ? last().text : "");
        exit(1);
    }
}
#define REFUSED(call, status, text) refused_at(call, status, text, __LINE__)

// --- tasks ---------------------------------------------------------------------------------------------------------------

static atomic_int made, freed;

struct ramp {
    long next, end;
};

// 4 x f32: 0 0 0 0, 1 1 1 1, ...
static int32_t ramp_run(void *state, bief_slice *sockets, bief_call *call) {
    struct ramp *ramp = state;
    CHECK(call->size >= sizeof *call && call->frames == 1 && sockets[0].len == sockets[0].capacity);
    if (ramp->next == ramp->end)
        return BIEF_STOP;
    CHECK(call->frame == ramp->next);
    float *out = sockets[0].data;
    for (size_t i = 0; i < sockets[0].len; ++i)
        out[i] = (float)ramp->next;
    ++ramp->next;
    return BIEF_NEXT;
}

static int32_t ramp_reset(void *state, bief_call *call) {
    (void)call;
    ((struct ramp *)state)->next = 0;
    return 0;
}

struct gain {
    float factor;
    long fail_at;   // the frame at which it fails, or -1
    long pause_us;
};

static int32_t gain_run(void *state, bief_slice *sockets, bief_call *call) {
    const struct gain *gain = state;
    if (call->frame == gain->fail_at) {
        snprintf(call->error, call->error_size, "no more at %ld", gain->fail_at);
        return -77;
    }
    if (gain->pause_us > 0) {
        struct timespec pause = {0, 1000 * gain->pause_us};
        nanosleep(&pause, NULL);
    }
    const float *in = sockets[0].data;
    float *out = sockets[1].data;
    for (size_t i = 0; i < sockets[0].len; ++i)
        out[i] = gain->factor * in[i];
    return BIEF_NEXT;
}

static void *kept(const void *state, size_t size) {
    void *copy = malloc(size);
    CHECK(copy != NULL);
    memcpy(copy, state, size);
    atomic_fetch_add(&made, 1);
    return copy;
}

static int32_t gain_copy(const void *state, void **copy) {
    *copy = kept(state, sizeof(struct gain));
    return 0;
}

static void release(void *state) {
    atomic_fetch_add(&freed, 1);
    free(state);
}

// How many frames have come to any sum: for other threads.
static atomic_long arrived;

struct sum {
    double total;
    long frames, finished, last;
};

static int32_t sum_run(void *state, bief_slice *sockets, bief_call *call) {
    (void)call;
    struct sum *sum = state;
    const float *in = sockets[0].data;
    for (size_t i = 0; i < sockets[0].len; ++i)
        sum->total += in[i];
    CHECK(sum->last < (long)in[0] || sum->frames == 0);
    sum->last = (long)in[0];
    ++sum->frames;
    atomic_fetch_add(&arrived, 1);
    return BIEF_NEXT;
}

static int32_t sum_finish(void *state, bief_call *call) {
    (void)call;
    ++((struct sum *)state)->finished;
    return 0;
}

static bief_wire add_ramp(bief_chain *chain, long end) {
    struct ramp start = {0, end};
    bief_task task = {.size = sizeof task, .name = "ramp", .sockets = "out 4 x f32", .run = ramp_run, .reset = ramp_reset, .free = release};
    task.state = kept(&start, sizeof start);
    bief_wire wire = 0;
    OK(bief_chain_add(chain, &task, NULL, 0, &wire, 1));
    CHECK(wire != 0);
    return wire;
}

static bief_wire add_gain(bief_chain *chain, bief_wire in, struct gain gain) {
    bief_task task = {.size = sizeof task, .name = "gain", .sockets = "in f32, out f32", .run = gain_run, .copy = gain_copy, .free = release};
    task.state = kept(&gain, sizeof gain);
    bief_wire wire = 0;
    OK(bief_chain_add(chain, &task, &in, 1, &wire, 1));
    return wire;
}

// The sum is the caller's: it is looked at after the run.
static void add_sum(bief_chain *chain, bief_wire in, struct sum *sum) {
    bief_task task = {.size = sizeof task, .name = "sum", .sockets = "in f32", .run = sum_run, .finish = sum_finish, .state = sum};
    OK(bief_chain_add(chain, &task, &in, 1, NULL, 0));
}

static bief_chain *chain_of(size_t batch) {
    bief_chain *chain = NULL;
    OK(bief_chain_new(&chain));
    OK(bief_chain_batch(chain, batch));
    return chain;
}

// --- what is tried -------------------------------------------------------------------------------------------------------

static void versions(void) {
    CHECK(bief_abi_version() == ((uint32_t)BIEF_ABI_MAJOR << 16 | BIEF_ABI_MINOR));
    CHECK(strcmp(bief_version(), "0.1.0") == 0);
    bief_error error = {sizeof error, 0, 0, NULL, NULL, NULL, 0, NULL};
    CHECK(bief_last_error(&error) == BIEF_ERROR_ARGUMENT); // nothing has failed yet
}

static void a_chain_runs_on_one_core(void) {
    bief_chain *chain = chain_of(8);
    struct sum sum = {0};
    add_sum(chain, add_gain(chain, add_ramp(chain, 100), (struct gain){2, -1, 0}), &sum);
    char *report = NULL;
    OK(bief_chain_run(chain, &report));
    CHECK(strstr(report, "\"frames\": 100") && strstr(report, "\"name\": \"gain\""));
    bief_text_free(report);
    CHECK(sum.total == 2 * 4 * 99 * 100 / 2 && sum.frames == 100 && sum.finished == 1);
    REFUSED(bief_chain_run(chain, NULL), BIEF_ERROR_ARGUMENT, "used up");
    REFUSED(bief_chain_stage(chain, "late", 1), BIEF_ERROR_ARGUMENT, "used up");
    bief_chain_free(chain);
}

static void replicas_keep_the_order_and_runs_can_be_repeated(void) {
    bief_chain *chain = chain_of(2);
    struct sum sum = {0};
    bief_wire ramp = add_ramp(chain, 1000);
    OK(bief_chain_stage(chain, "gain", 3));
    bief_wire gain = add_gain(chain, ramp, (struct gain){1, -1, 0});
    OK(bief_chain_stage(chain, "out", 1));
    add_sum(chain, gain, &sum);
    bief_options options = {.size = sizeof options, .waiting = "passive", .depth = 2, .observe = 1, .place = "loose"};
    bief_pipeline *pipeline = NULL;
    OK(bief_chain_pipeline(chain, &options, &pipeline));
    bief_chain_free(chain);
    for (int run = 1; run <= 3; ++run) {
        char *report = NULL;
        OK(bief_pipeline_run(pipeline, &report));
        CHECK(strstr(report, "\"threads\": 3") && strstr(report, "\"median_ns\""));
        bief_text_free(report);
        CHECK(sum.frames == 1000 * run && sum.finished == run && sum.last == 999);
        sum.last = -1;
    }
    bief_pipeline_free(pipeline);
    CHECK(atomic_load(&made) == atomic_load(&freed));
}

static void a_code_of_c_ends_the_run_with_task_and_frame(void) {
    bief_chain *chain = chain_of(4);
    struct sum sum = {0};
    bief_wire ramp = add_ramp(chain, 100);
    OK(bief_chain_stage(chain, "middle", 2));
    bief_wire gain = add_gain(chain, ramp, (struct gain){1, 42, 0});
    OK(bief_chain_stage(chain, "out", 1));
    add_sum(chain, gain, &sum);
    char *report = (char *)&sum;
    CHECK(bief_chain_run(chain, &report) == BIEF_ERROR_TASK);
    CHECK(report == (char *)&sum); // it is not touched
    bief_error error = last();
    CHECK(error.status == BIEF_ERROR_TASK && error.code == -77 && error.frame == 42);
    CHECK(strcmp(error.task, "gain") == 0 && strcmp(error.stage, "middle") == 0 && strcmp(error.message, "no more at 42") == 0);
    CHECK(strcmp(error.text, "task `gain` (stage `middle`, frame 42): no more at 42") == 0);
    CHECK(sum.frames == 42 && sum.finished == 1); // what went before is delivered
    bief_chain_free(chain);
    CHECK(atomic_load(&made) == atomic_load(&freed));
}

static int32_t silent_run(void *state, bief_slice *sockets, bief_call *call) {
    (void)sockets, (void)call;
    return *(int32_t *)state;
}

static void what_a_task_returns_is_told(void) {
    struct { int32_t code; const char *text; } cases[] = {
        {-5, "task `odd` (stage `chain`, frame 0): returned -5, and did not say why"},
        {INT32_MIN, "returned -2147483648, and did not say why"},
        {3, "returned 3: return BIEF_NEXT, BIEF_SKIP, BIEF_STOP, or less than 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        bief_chain *chain = chain_of(1);
        bief_task task = {.size = sizeof task, .name = "odd", .sockets = "out 1 x u8", .run = silent_run, .state = &cases[i].code};
        bief_wire wire;
        OK(bief_chain_add(chain, &task, NULL, 0, &wire, 1));
        REFUSED(bief_chain_run(chain, NULL), BIEF_ERROR_TASK, cases[i].text);
        CHECK(last().code == (cases[i].code < 0 ? cases[i].code : 0));
        bief_chain_free(chain);
    }
}

// Takes batches: skips whole frames by what they hold, stops in the middle of a batch.
struct blocks {
    size_t calls, frames;
    int64_t stop_at;
};

static int32_t blocks_run(void *state, bief_slice *sockets, bief_call *call) {
    struct blocks *blocks = state;
    const float *in = sockets[0].data;
    float *out = sockets[1].data;
    CHECK(sockets[0].len == 4 && (uintptr_t)in % sizeof(float) == 0);
    for (size_t frame = 0; frame < call->frames; ++frame) {
        if (call->frame + (int64_t)frame == blocks->stop_at) {
            call->done = frame;
            return BIEF_STOP;
        }
        CHECK(in[4 * frame] == (float)(call->frame + (int64_t)frame));
        memcpy(out + 4 * frame, in + 4 * frame, 4 * sizeof *out);
    }
    ++blocks->calls;
    blocks->frames += call->frames;
    return BIEF_NEXT;
}

static int32_t odd_run(void *state, bief_slice *sockets, bief_call *call) {
    (void)call, (void)state;
    const float *in = sockets[0].data;
    return (long)in[0] % 8 == 5 ? BIEF_SKIP : BIEF_NEXT;
}

static void batches_come_as_runs_of_neighbours(void) {
    bief_chain *chain = chain_of(16);
    struct blocks blocks = {0, 0, 75};
    struct sum sum = {0};
    bief_wire ramp = add_ramp(chain, 1000);
    bief_task skip = {.size = sizeof skip, .name = "skip", .sockets = "in f32", .run = odd_run, .copy = bief_share};
    OK(bief_chain_add(chain, &skip, &ramp, 1, NULL, 0));
    bief_task task = {.size = sizeof task, .name = "blocks", .sockets = "in f32, out f32", .run = blocks_run, .batches = 1, .state = &blocks};
    bief_wire wire;
    OK(bief_chain_add(chain, &task, &ramp, 1, &wire, 1));
    add_sum(chain, wire, &sum);
    OK(bief_chain_run(chain, NULL));
    CHECK(sum.frames == 75 - 9 && sum.last == 74); // 5, 13, ... 69 are skipped
    CHECK(blocks.calls < 30 && blocks.frames > 40);
    bief_chain_free(chain);

    // A source of batches that ends in the middle of one, and a task that fails there.
    chain = chain_of(16);
    bief_task variable = {.size = sizeof variable, .name = "both", .sockets = "out variable 4 x f32", .run = blocks_run, .batches = 1};
    REFUSED(bief_chain_add(chain, &variable, NULL, 0, &wire, 1), BIEF_ERROR_ARGUMENT, "it takes batches, but a socket is variable");
    bief_chain_free(chain);
}

static int32_t late_run(void *state, bief_slice *sockets, bief_call *call) {
    (void)sockets, (void)state;
    if (call->frame + (int64_t)call->frames > 37) {
        call->done = (size_t)(37 - call->frame);
        return -1;
    }
    return BIEF_NEXT;
}

static void a_batch_that_fails_tells_its_frame(void) {
    bief_chain *chain = chain_of(16);
    struct sum sum = {0};
    bief_wire ramp = add_ramp(chain, 1000);
    bief_task task = {.size = sizeof task, .name = "late", .sockets = "in-place f32", .run = late_run, .batches = 1};
    OK(bief_chain_add(chain, &task, &ramp, 1, NULL, 0));
    add_sum(chain, ramp, &sum);
    CHECK(bief_chain_run(chain, NULL) == BIEF_ERROR_TASK);
    CHECK(last().frame == 37 && sum.frames == 37);
    bief_chain_free(chain);
}

// Frames of n % 5 bytes, then doubled in place.
static int32_t bytes_run(void *state, bief_slice *sockets, bief_call *call) {
    (void)state;
    CHECK(sockets[0].len == 0 && sockets[0].capacity == 8);
    if (call->frame == 20)
        return BIEF_STOP;
    sockets[0].len = (size_t)(call->frame % 5);
    memset(sockets[0].data, 'a', sockets[0].len);
    return BIEF_NEXT;
}

static int32_t twice_run(void *state, bief_slice *sockets, bief_call *call) {
    CHECK(sockets[0].len == (size_t)(call->frame % 5));
    sockets[0].len *= *(size_t *)state;
    memset(sockets[0].data, 'b', sockets[0].len < 8 ? sockets[0].len : 8);
    return BIEF_NEXT;
}

static int32_t count_run(void *state, bief_slice *sockets, bief_call *call) {
    (void)call;
    *(size_t *)state += sockets[0].len;
    return BIEF_NEXT;
}

static void frames_may_differ_in_length(void) {
    for (size_t factor = 2; factor <= 3; ++factor) {
        bief_chain *chain = chain_of(4);
        size_t total = 0;
        bief_wire wire;
        bief_task source = {.size = sizeof source, .name = "bytes", .sockets = "out variable 8 x u8", .run = bytes_run};
        bief_task twice = {.size = sizeof twice, .name = "twice", .sockets = "in-place variable u8", .run = twice_run, .state = &factor};
        bief_task count = {.size = sizeof count, .name = "count", .sockets = "in variable u8", .run = count_run, .state = &total};
        OK(bief_chain_add(chain, &source, NULL, 0, &wire, 1));
        OK(bief_chain_add(chain, &twice, &wire, 1, NULL, 0));
        OK(bief_chain_add(chain, &count, &wire, 1, NULL, 0));
        if (factor == 2) {
            OK(bief_chain_run(chain, NULL));
            CHECK(total == 2 * 4 * (1 + 2 + 3 + 4));
        } else {
            REFUSED(bief_chain_run(chain, NULL), BIEF_ERROR_TASK, "task `twice` (stage `chain`, frame 3)");
        }
        bief_chain_free(chain);
    }
}

static int32_t half_lens(void *state, const size_t *inputs, size_t *outputs, bief_call *call) {
    (void)state;
    CHECK(outputs[0] == inputs[0] && outputs[1] == 3);
    if (inputs[0] % 2) {
        snprintf(call->error, call->error_size, "frames have an even length");
        return -9;
    }
    outputs[0] = inputs[0] / 2;
    return 0;
}

static int32_t half_run(void *state, bief_slice *sockets, bief_call *call) {
    (void)state, (void)call;
    CHECK(sockets[0].len == 4 && sockets[1].len == 2 && sockets[2].len == 3);
    return BIEF_NEXT;
}

static void lengths_are_told_and_refused(void) {
    bief_chain *chain = chain_of(1);
    bief_wire ramp = add_ramp(chain, 3), made_wires[2] = {0, 0};
    bief_task half = {.size = sizeof half, .name = "half", .sockets = "in f32, out f32, out 3 x u16", .run = half_run, .lens = half_lens};
    OK(bief_chain_add(chain, &half, &ramp, 1, made_wires, 2));
    // Of 3 elements: refused by the function, with who made the wire.
    half.sockets = "in u16, out f32, out 3 x u16";
    REFUSED(bief_chain_add(chain, &half, &made_wires[1], 1, made_wires, 2), BIEF_ERROR_BUILD,
            "task `half 2`: frames have an even length (input 0 is 3 x u16 from task `half`)");
    CHECK(last().code == -9);
    bief_task exact = {.size = sizeof exact, .name = "exact", .sockets = "in 5 x f32", .run = sum_run};
    REFUSED(bief_chain_add(chain, &exact, &ramp, 1, NULL, 0), BIEF_ERROR_BUILD, "input 0 takes frames of 5 elements");
    bief_task blank = {.size = sizeof blank, .name = "blank", .sockets = "out f32", .run = half_run};
    REFUSED(bief_chain_add(chain, &blank, NULL, 0, made_wires, 1), BIEF_ERROR_BUILD, "nothing says how long the frames of output 0 are");
    OK(bief_chain_run(chain, NULL));
    bief_chain_free(chain);
}

static void what_cannot_be_meant_is_refused(void) {
    bief_chain *chain = chain_of(1), *other = chain_of(1), *none = NULL;
    bief_wire ramp = add_ramp(chain, 3), wire = 0;
    int before = atomic_load(&freed);
    struct gain gain = {1, -1, 0};
    bief_task task = {.size = sizeof task, .name = "gain", .sockets = "in u8, out f32", .run = gain_run, .state = &gain, .free = release};
    REFUSED(bief_chain_add(chain, &task, &ramp, 1, &wire, 1), BIEF_ERROR_BUILD,
            "task `gain`: input 0 reads u8, but gets f32 from task `ramp`");
    task.sockets = "in f32, out f32";
    REFUSED(bief_chain_add(other, &task, &ramp, 1, &wire, 1), BIEF_ERROR_ARGUMENT, "input 0 is a wire of another chain");
    bief_wire nothing = 0, beyond = ramp + 7;
    REFUSED(bief_chain_add(chain, &task, &nothing, 1, &wire, 1), BIEF_ERROR_ARGUMENT, "input 0 is 0, which is no wire");
    REFUSED(bief_chain_add(chain, &task, &beyond, 1, &wire, 1), BIEF_ERROR_ARGUMENT, "input 0 is no wire of this chain");
    REFUSED(bief_chain_add(chain, &task, NULL, 1, &wire, 1), BIEF_ERROR_ARGUMENT, "no input wires");
    REFUSED(bief_chain_add(chain, &task, NULL, 0, &wire, 1), BIEF_ERROR_BUILD, "1 input (in f32), but none was given");
    REFUSED(bief_chain_add(chain, &task, &ramp, 1, &wire, 2), BIEF_ERROR_ARGUMENT, "makes 1 wire, and there is room for 2");
    REFUSED(bief_chain_add(chain, &task, &ramp, 1, NULL, 1), BIEF_ERROR_ARGUMENT, "no place for the wires");
    REFUSED(bief_chain_add(NULL, &task, &ramp, 1, &wire, 1), BIEF_ERROR_ARGUMENT, "no chain: the pointer is NULL");
    REFUSED(bief_chain_add(chain, NULL, &ramp, 1, &wire, 1), BIEF_ERROR_ARGUMENT, "no bief_task: the pointer is NULL");
    task.size = 0;
    REFUSED(bief_chain_add(chain, &task, &ramp, 1, &wire, 1), BIEF_ERROR_ARGUMENT, "bief_task.size is 0: set it to sizeof(bief_task)");
    task.size = sizeof task;
    task.run = NULL;
    REFUSED(bief_chain_add(chain, &task, &ramp, 1, &wire, 1), BIEF_ERROR_ARGUMENT, "no bief_task.run");
    task.run = gain_run;
    task.name = "\xff";
    REFUSED(bief_chain_add(chain, &task, &ramp, 1, &wire, 1), BIEF_ERROR_ARGUMENT, "bief_task.name is no UTF-8");
    task.name = "";
    REFUSED(bief_chain_add(chain, &task, &ramp, 1, &wire, 1), BIEF_ERROR_ARGUMENT, "bief_task.name is empty");
    task.name = "gain";
    task.sockets = "in f32 out f32";
    REFUSED(bief_chain_add(chain, &task, &ramp, 1, &wire, 1), BIEF_ERROR_ARGUMENT, "socket `in f32 out f32`: a length is written");

    // A struct of a later version: what it has more may be 0, and nothing else.
    struct { bief_task task; void *later; } newer = {task, NULL};
    newer.task.size = sizeof newer;
    newer.task.sockets = "in f32, out f32";
    newer.later = &newer;
    REFUSED(bief_chain_add(chain, &newer.task, &ramp, 1, &wire, 1), BIEF_ERROR_ARGUMENT, "install a newer libbief");
    newer.later = NULL;
    newer.task.free = NULL;
    OK(bief_chain_add(chain, &newer.task, &ramp, 1, &wire, 1));
    // One of an earlier version: what it lacks is 0.
    bief_task earlier = newer.task;
    earlier.size = offsetof(bief_task, lens);
    earlier.batches = 1;
    OK(bief_chain_add(chain, &earlier, &ramp, 1, &wire, 1));

    CHECK(atomic_load(&freed) == before); // a state that was refused is the caller's
    REFUSED(bief_chain_new(NULL), BIEF_ERROR_ARGUMENT, "no place for the chain");
    REFUSED(bief_chain_batch(NULL, 1), BIEF_ERROR_ARGUMENT, "no chain");
    REFUSED(bief_pipeline_run(NULL, NULL), BIEF_ERROR_ARGUMENT, "no pipeline");
    REFUSED(bief_chain_read(NULL, &none), BIEF_ERROR_ARGUMENT, "no path");
    REFUSED(bief_chain_read("/nonexistent.toml", &none), BIEF_ERROR_BUILD, "/nonexistent.toml");
    CHECK(none == NULL);
    REFUSED(bief_chain_wire(chain, "x", &wire), BIEF_ERROR_ARGUMENT, "there is no wire `x`: none has a name");
    bief_options options = {.size = sizeof options, .depth = 3};
    bief_pipeline *pipeline = NULL;
    REFUSED(bief_chain_pipeline(chain, &options, &pipeline), BIEF_ERROR_ARGUMENT, "none is marked");
    CHECK(pipeline == NULL);
    OK(bief_chain_batch(other, 0));
    add_ramp(other, 1);
    REFUSED(bief_chain_run(other, NULL), BIEF_ERROR_BUILD, "batch");
    bief_chain_free(chain);
    bief_chain_free(other);
    bief_chain_free(NULL);
    bief_pipeline_free(NULL);
    bief_stopper_free(NULL);
    bief_stopper_stop(NULL);
    bief_application_free(NULL);
    bief_planned_free(NULL);
    bief_text_free(NULL);
    bief_error small = {.size = sizeof(size_t)};
    CHECK(bief_last_error(&small) == BIEF_ERROR_ARGUMENT && bief_last_error(NULL) == BIEF_ERROR_ARGUMENT);
    // A shorter struct of an earlier version is filled as far as it reaches.
    small = (bief_error){.size = offsetof(bief_error, message), .text = "untouched"};
    CHECK(bief_last_error(&small) == BIEF_OK && small.status == BIEF_ERROR_BUILD && strcmp(small.text, "untouched") == 0);
    CHECK(small.size == offsetof(bief_error, message));
}

static bief_stopper *stopped;

static void on_alarm(int signal) {
    (void)signal;
    bief_stopper_stop(stopped);
}

// Stops when frames have come: by the stopper, or, without one, by a signal.
static void *stop_soon(void *stopper) {
    long before = atomic_load(&arrived);
    struct timespec pause = {0, 1000000};
    while (atomic_load(&arrived) == before)
        nanosleep(&pause, NULL);
    if (stopper)
        bief_stopper_stop(stopper);
    else
        kill(getpid(), SIGALRM);
    return NULL;
}

static void runs_are_stopped_by_threads_and_signals(void) {
    bief_chain *chain = chain_of(1);
    struct sum sum = {0};
    bief_wire ramp = add_ramp(chain, 1L << 40);
    OK(bief_chain_stage(chain, "out", 1));
    add_sum(chain, ramp, &sum);
    bief_pipeline *pipeline = NULL;
    OK(bief_chain_pipeline(chain, NULL, &pipeline));
    bief_chain_free(chain);
    OK(bief_pipeline_stopper(pipeline, &stopped));
    struct sigaction action = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &action, NULL);
    for (int run = 1; run <= 2; ++run) {
        long before = sum.frames;
        sum.last = -1;
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, stop_soon, run == 1 ? stopped : NULL) == 0);
        OK(bief_pipeline_run(pipeline, NULL));
        pthread_join(thread, NULL);
        CHECK(sum.frames > before && sum.finished == run);
    }
    // Before a run it ends the next one before its first frame.
    long before = sum.frames;
    bief_stopper_stop(stopped);
    OK(bief_pipeline_run(pipeline, NULL));
    CHECK(sum.frames == before && sum.finished == 3);
    bief_pipeline_free(pipeline);
    bief_stopper_stop(stopped); // it may outlive the pipeline
    bief_stopper_free(stopped);
}

static void *fails(void *number) {
    long frame = *(long *)number;
    for (int turn = 0; turn < 20; ++turn) {
        bief_chain *chain = chain_of(1);
        struct sum sum = {0};
        bief_wire ramp = add_ramp(chain, 100);
        OK(bief_chain_stage(chain, "gain", 1));
        add_sum(chain, add_gain(chain, ramp, (struct gain){1, frame, 0}), &sum);
        CHECK(bief_chain_run(chain, NULL) == BIEF_ERROR_TASK);
        CHECK(last().frame == frame && sum.frames == frame);
        bief_chain_free(chain);
    }
    return NULL;
}

static void each_thread_has_its_own_error(void) {
    long frames[2] = {11, 22};
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i)
        CHECK(pthread_create(&threads[i], NULL, fails, &frames[i]) == 0);
    for (int i = 0; i < 2; ++i)
        pthread_join(threads[i], NULL);
    CHECK(last().frame != 11 && last().frame != 22); // not this thread's
}

static void counted(const void *state, bief_figures *figures) {
    const struct sum *sum = state;
    OK(bief_figure_count(figures, "blocks", "frames", (uint64_t)sum->frames));
    OK(bief_figure_level(figures, "mean", NULL, sum->total / (double)sum->frames, (double)sum->frames));
}

static uint64_t three(const void *state) {
    (void)state;
    return 3;
}

static void tasks_tell_figures_and_what_they_lost(void) {
    bief_chain *chain = chain_of(1);
    struct sum sum = {0};
    bief_wire ramp = add_ramp(chain, 10);
    bief_task task = {.size = sizeof task, .name = "sum", .sockets = "in f32", .run = sum_run, .state = &sum, .figures = counted, .lost = three};
    OK(bief_chain_add(chain, &task, &ramp, 1, NULL, 0));
    char *report = NULL;
    OK(bief_chain_run(chain, &report));
    CHECK(strstr(report, "\"blocks\"") && strstr(report, "\"mean\": 18.0") && strstr(report, "\"lost\": 3"));
    bief_text_free(report);
    bief_chain_free(chain);
}

static void built_in_kinds_join_tasks_of_c(const char *data) {
    char parameters[4096];
    snprintf(parameters, sizeof parameters, "{\"path\": \"%s/nbfm_tones.sigmf-meta\", \"frame\": 1000}", data);
    bief_chain *chain = chain_of(1);
    bief_wire raw = 0, iq = 0;
    OK(bief_chain_make(chain, "read", "radio.read", parameters, NULL, 0, &raw, 1));
    OK(bief_chain_make(chain, "agc", "radio.agc", "{\"target\": 0.5}", &raw, 1, &iq, 1));
    REFUSED(bief_chain_make(chain, "agc", "radio.ago", NULL, &raw, 1, &iq, 1), BIEF_ERROR_BUILD, "there is no kind of task `radio.ago`");
    REFUSED(bief_chain_make(chain, "agc", "radio.agc", "{\"tarket\": 1}", &raw, 1, &iq, 1), BIEF_ERROR_BUILD, "parameter `tarket`");
    REFUSED(bief_chain_make(chain, "agc", "radio.agc", "[1]", &raw, 1, &iq, 1), BIEF_ERROR_ARGUMENT, "write a JSON object");
    REFUSED(bief_chain_make(chain, "agc", "radio.agc", "{\"target\": null}", &raw, 1, &iq, 1), BIEF_ERROR_ARGUMENT, "`target`: write");
    REFUSED(bief_chain_make(chain, "agc", "radio.agc", "{", &raw, 1, &iq, 1), BIEF_ERROR_ARGUMENT, "parameters: EOF");
    REFUSED(bief_chain_make(chain, "agc", "radio.agc", NULL, &raw, 1, NULL, 0), BIEF_ERROR_ARGUMENT, "room for 0");
    size_t total = 0, samples = 0;
    bief_task count = {.size = sizeof count, .name = "count", .sockets = "in f32", .run = count_run, .state = &total};
    OK(bief_chain_add(chain, &count, &iq, 1, NULL, 0));
    count.sockets = "in complex<f32>";
    count.state = &samples;
    OK(bief_chain_add(chain, &count, &raw, 1, NULL, 0));
    OK(bief_chain_run(chain, NULL));
    CHECK(total > 100 && samples == 1000 * total); // a level for each frame of 1000 samples
    bief_chain_free(chain);

    char path[4096];
    snprintf(path, sizeof path, "%s/chains/nbfm.toml", data);
    OK(bief_chain_read(path, &chain));
    REFUSED(bief_chain_wire(chain, "nothing", &iq), BIEF_ERROR_ARGUMENT, "there are ");
    bief_chain_free(chain);
}

// --- applications --------------------------------------------------------------------------------------------------------

struct work {
    long frames;
    int rehearsals, runs, freed;
    struct sum sum, rehearsed;
};

static int32_t build(void *state, bief_chain *chain, uint64_t rehearsal, bief_call *call) {
    struct work *work = state;
    (void)call;
    *(rehearsal ? &work->rehearsals : &work->runs) += 1;
    work->rehearsed = (struct sum){0};
    long frames = rehearsal == 0 ? work->frames : rehearsal > 1u << 20 ? 1 << 20 : (long)rehearsal;
    bief_wire ramp = add_ramp(chain, frames);
    bief_wire gain = add_gain(chain, ramp, (struct gain){1, -1, 100});
    add_sum(chain, gain, rehearsal ? &work->rehearsed : &work->sum);
    return 0;
}

static void work_freed(void *state) {
    ++((struct work *)state)->freed;
}

static int32_t build_nothing(void *state, bief_chain *chain, uint64_t rehearsal, bief_call *call) {
    (void)state, (void)rehearsal, (void)call;
    bief_wire wire;
    return bief_chain_make(chain, "x", "no.kind", NULL, NULL, 0, &wire, 1);
}

static void applications_are_planned_and_run(void) {
    struct work work = {.frames = 500};
    bief_build c = {sizeof c, &work, build, work_freed};
    bief_application *application = NULL;
    OK(bief_application_new(&c, &application));
    bief_planning planning = {.size = sizeof planning, .executions = 20, .goal = "fewest-cores", .refine = 1, .cores = "2"};
    bief_planned *planned = NULL;
    OK(bief_application_plan(application, &planning, &planned));
    CHECK(work.rehearsals >= 2 && work.runs == 0 && work.sum.frames == 0);
    char *document = NULL;
    OK(bief_planned_json(planned, &document));
    CHECK(strstr(document, "\"profile\"") && strstr(document, "\"schedule\"") && strstr(document, "\"rounds\""));
    bief_text_free(document);
    bief_pipeline *pipeline = NULL;
    OK(bief_application_pipeline(application, planned, &pipeline));
    bief_planned_free(planned);
    bief_application_free(application);
    CHECK(work.freed == 1);
    char *report = NULL;
    OK(bief_pipeline_run(pipeline, &report));
    CHECK(strstr(report, "\"planned_period_ns\"") && work.runs == 1 && work.sum.frames == 500);
    bief_text_free(report);
    bief_pipeline_free(pipeline);
    CHECK(atomic_load(&made) == atomic_load(&freed));

    c.build = build_nothing;
    OK(bief_application_new(&c, &application));
    REFUSED(bief_application_plan(application, NULL, &planned), BIEF_ERROR_BUILD, "there is no kind of task `no.kind`");
    CHECK(planned == NULL);
    planning.goal = "fastest";
    REFUSED(bief_application_plan(application, &planning, &planned), BIEF_ERROR_BUILD, "`fastest` is no aim");
    planning = (bief_planning){.size = sizeof planning, .place = "nowhere"};
    REFUSED(bief_application_plan(application, &planning, &planned), BIEF_ERROR_BUILD, "nowhere");
    REFUSED(bief_application_pipeline(application, NULL, &pipeline), BIEF_ERROR_ARGUMENT, "no plan");
    bief_application_free(application);
    c.build = NULL;
    REFUSED(bief_application_new(&c, &application), BIEF_ERROR_ARGUMENT, "no bief_build.build");
}

static void chain_files_are_planned_and_run(const char *data) {
    char text[8192], wav[256];
    snprintf(wav, sizeof wav, "/tmp/bief-capi-%ld.ci16", (long)getpid());
    snprintf(text, sizeof text,
             "[[task]]\nname = 'read'\nkind = 'radio.read'\nout = ['iq']\npath = '%s/nbfm_tones.sigmf-meta'\nframe = 1000\n"
             "[[task]]\nname = 'quantise'\nkind = 'radio.quantise'\nin = ['iq']\nout = ['bytes']\n"
             "[[task]]\nname = 'write'\nkind = 'file.write'\nin = ['bytes']\npath = '%s'\n",
             data, wav);
    bief_application *application = NULL;
    REFUSED(bief_application_parse("[[task]]", "empty.toml", &application), BIEF_ERROR_BUILD, "empty.toml:1");
    OK(bief_application_parse(text, "copy.toml", &application));
    bief_planning planning = {.size = sizeof planning, .executions = 20};
    bief_planned *planned = NULL;
    OK(bief_application_plan(application, &planning, &planned));
    CHECK(access(wav, F_OK) != 0); // a rehearsal writes nothing
    bief_pipeline *pipeline = NULL;
    OK(bief_application_pipeline(application, planned, &pipeline));
    OK(bief_pipeline_run(pipeline, NULL));
    bief_pipeline_free(pipeline);
    bief_planned_free(planned);
    bief_application_free(application);
    CHECK(access(wav, F_OK) == 0 && remove(wav) == 0);
}

static void profiles_are_planned_without_running(const char *data) {
    char path[4096];
    snprintf(path, sizeof path, "%s/profiles/mac_studio.json", data);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    static char profile[1 << 16];
    profile[fread(profile, 1, sizeof profile - 1, file)] = 0;
    fclose(file);
    bief_planning planning = {.size = sizeof planning, .profile = profile, .cores = "big=4,little=2", .goal = "fewest-cores,rate=20Mb/s"};
    char *schedule = NULL;
    OK(bief_plan(&planning, &schedule));
    CHECK(strstr(schedule, "\"strategy\": \"exact\"") && strstr(schedule, "\"stages\""));
    bief_text_free(schedule);
    planning.refine = 2;
    REFUSED(bief_plan(&planning, &schedule), BIEF_ERROR_ARGUMENT, "bief_planning.refine: bief_plan runs nothing");
    planning = (bief_planning){.size = sizeof planning, .profile = profile};
    REFUSED(bief_plan(&planning, &schedule), BIEF_ERROR_ARGUMENT, "no bief_planning.cores");
    planning.cores = "huge=3";
    REFUSED(bief_plan(&planning, &schedule), BIEF_ERROR_BUILD, "huge");
    planning.cores = "big=3";
    planning.strategy = "best";
    REFUSED(bief_plan(&planning, &schedule), BIEF_ERROR_BUILD, "best");
    planning.profile = "{";
    REFUSED(bief_plan(&planning, &schedule), BIEF_ERROR_BUILD, "profile");
    REFUSED(bief_plan(NULL, &schedule), BIEF_ERROR_ARGUMENT, "no bief_planning.profile");

    // A chain of C is measured, planned for one core, and run by that schedule beside its profile.
    char *measured = NULL;
    for (int turn = 0; turn < 2; ++turn) {
        bief_chain *chain = chain_of(2);
        struct sum sum = {0};
        add_sum(chain, add_gain(chain, add_ramp(chain, 200), (struct gain){1, -1, 0}), &sum);
        if (turn == 0) {
            OK(bief_chain_profile(chain, 50, &measured));
        } else {
            bief_options options = {.size = sizeof options, .schedule = schedule, .profile = measured, .observe = 1};
            bief_pipeline *pipeline = NULL;
            OK(bief_chain_pipeline(chain, &options, &pipeline));
            char *report = NULL;
            OK(bief_pipeline_run(pipeline, &report));
            CHECK(strstr(report, "\"planned_ns\"") && strstr(report, "\"clock_ns\"") && sum.frames == 200);
            bief_text_free(report);
            bief_pipeline_free(pipeline);
        }
        bief_chain_free(chain);
        if (turn == 0) {
            planning = (bief_planning){.size = sizeof planning, .profile = measured, .cores = "2"};
            OK(bief_plan(&planning, &schedule));
        }
    }
    bief_text_free(measured);
    bief_text_free(schedule);
    char *machine = NULL;
    OK(bief_machine(&machine));
    CHECK(machine[0] == '{');
    bief_text_free(machine);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    versions();
    a_chain_runs_on_one_core();
    replicas_keep_the_order_and_runs_can_be_repeated();
    a_code_of_c_ends_the_run_with_task_and_frame();
    what_a_task_returns_is_told();
    batches_come_as_runs_of_neighbours();
    a_batch_that_fails_tells_its_frame();
    frames_may_differ_in_length();
    lengths_are_told_and_refused();
    what_cannot_be_meant_is_refused();
    runs_are_stopped_by_threads_and_signals();
    each_thread_has_its_own_error();
    tasks_tell_figures_and_what_they_lost();
    built_in_kinds_join_tasks_of_c(arguments[1]);
    applications_are_planned_and_run();
    chain_files_are_planned_and_run(arguments[1]);
    profiles_are_planned_without_running(arguments[1]);
    CHECK(atomic_load(&made) == atomic_load(&freed));
    puts("all as the header says");
    return 0;
}
