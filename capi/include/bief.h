/*
 * Bief runs a chain of streaming tasks on all cores of a processor. It measures the tasks, computes the best pipeline, runs
 * it, and reports how far the run was from its plan. The book's chapter "Bief from C and C++" shows how to use this header;
 * bief.hpp is its C++17 side. Licence: MIT OR Apache-2.0.
 *
 * Results. Functions return BIEF_OK (0), or less than 0 (BIEF_ERROR_...): bief_last_error then tells what went wrong on this
 * thread, with stage, task and frame. What a function should have written is then not written, handles are NULL.
 *
 * Handles (bief_chain, bief_pipeline, ...) are freed once, each by its own function, which takes NULL too. Texts that a
 * function gives are freed by bief_text_free. All text is UTF-8; documents are JSON, as the command `bief` reads and writes it.
 *
 * Structs begin with their size: set it to sizeof, and all that you do not use to 0, as `bief_task task = {sizeof task};`
 * does. bief_slice has no size, and stays as it is.
 *
 * Threads. A handle is in the hands of one thread at a time, whichever that is. Only bief_stopper_stop may be called by
 * anyone at any time: by other threads, tasks and signal handlers. The functions of a task are called by one thread at a time
 * for each state, not always by the same one; replicas have states of their own and run at the same time. They may call
 * bief_stopper_stop, bief_figure_count, bief_figure_level, bief_share, and what does not touch their own chain, pipeline or
 * application. bief_pipeline_run returns when all tasks are done. A process that was forked does not have the threads of a
 * pipeline: make pipelines after fork.
 */


#ifndef BIEF_H
#define BIEF_H

/* Made from capi/src by cbindgen: do not edit. `KEEP_HEADER=1 cargo test --manifest-path capi/Cargo.toml header` makes it anew. */

#include <stddef.h>
#include <stdint.h>

// The function did what it is there for.
#define BIEF_OK 0

// What was given cannot be meant: a NULL pointer, a struct without its size, a handle that is used up.
#define BIEF_ERROR_ARGUMENT -1

// The chain, its stages, its plan or a document cannot be used as given; nothing was run.
#define BIEF_ERROR_BUILD -2

// A task failed in a run.
#define BIEF_ERROR_TASK -3

// A panic: of a task of Rust in a run, or of this library.
#define BIEF_ERROR_PANIC -4

// The system refused a thread the place that was required for it.
#define BIEF_ERROR_PLACEMENT -5

// The system refused a thread the real-time class that was required for it.
#define BIEF_ERROR_REAL_TIME -6

// The version of the interface that this header is of: BIEF_ABI_MAJOR << 16 | BIEF_ABI_MINOR.
#define BIEF_ABI_MAJOR 0

// The minor version: it grows with each addition.
#define BIEF_ABI_MINOR 1

// The frame goes on.
#define BIEF_NEXT 0

// The frame is taken out: the tasks that follow do not see it.
#define BIEF_SKIP 1

// The stream has ended: neither this frame nor any later one goes on.
#define BIEF_STOP 2

// A chain that can be measured and tried before it is run.
typedef struct bief_application bief_application;

// A chain of tasks that is being written. Tasks run in the order in which they are added.
//
// It is used up by what makes a pipeline of it, runs it or measures it, also when that fails; it is freed all the same.
typedef struct bief_chain bief_chain;

// What a task of C is told to report of its work: see bief_figure_count.
typedef struct bief_figures bief_figures;

// A chain cut into stages, on threads of its own. It can be run any number of times.
typedef struct bief_pipeline bief_pipeline;

// A plan of an application: its profile, the schedule, and where threads run.
typedef struct bief_planned bief_planned;

// Ends a run of a pipeline from elsewhere.
typedef struct bief_stopper bief_stopper;

// What a task is told of one call, and what it answers beside its status.
typedef struct bief_call {
    // sizeof(bief_call) of the library: fields beyond it are not there.
    size_t size;
    // The number of the (first) frame, as the source counts; -1 where frames have no number.
    int64_t frame;
    // How many frames there are: 1, unless the task takes batches.
    size_t frames;
    // Of a task that takes batches and returns BIEF_STOP or less than 0: how many of the frames it had finished before. They
    // go on. It is 0 before each call.
    size_t done;
    // Where a task that fails writes why, as text that ends with a zero. It is empty before each call.
    char *error;
    // How many bytes there is room for.
    size_t error_size;
} bief_call;

// What builds the chain of an application.
typedef struct bief_build {
    // sizeof(bief_build), set by the program.
    size_t size;
    // Handed to both functions.
    void *state;
    // Adds all tasks to an empty chain, which is not freed. `rehearsal` is 0 for the run that counts; else the chain is for a
    // rehearsal: the same tasks, by name, on input that may be used up, for so many frames at most (UINT64_MAX for any number),
    // writing nothing. Returns 0, or less than 0 and says why in `call`; where a function of this library failed, returning
    // what it returned is enough.
    int32_t (*build)(void *state, struct bief_chain *chain, uint64_t rehearsal, struct bief_call *call);
    // Frees the state.
    void (*free)(void *state);
} bief_build;

// What is planned, and for what. All fields but the size may be 0.
typedef struct bief_planning {
    // sizeof(bief_planning), set by the program.
    size_t size;
    // The times of the tasks, a JSON document as `bief profile` writes it; NULL measures them.
    const char *profile;
    // The cores to use: "4", or by kind as in "big=2,little=4"; NULL for all of the platform or machine.
    const char *cores;
    // What the cores draw, and, for bief_plan without `cores`, how many there are: a platform, a JSON document; NULL for unknown.
    const char *platform;
    // What to optimise, as "fewest-cores,rate=30Mb/s"; NULL for the shortest period on the fewest big cores.
    const char *goal;
    // How to cut the chain into stages; NULL for "exact".
    const char *strategy;
    // The machine to plan for, as `bief machine --json` writes it, or kinds of cores to emulate, in TOML; NULL for this one.
    // Not for bief_plan.
    const char *machine;
    // The schedule to run instead of planning, a JSON document; NULL plans. Not for bief_plan.
    const char *schedule;
    // Where threads run, as bief_options.place; NULL for packed. Not for bief_plan.
    const char *place;
    // How often at most the plan is tried and corrected. Not for bief_plan.
    size_t refine;
    // How many batches are measured on each kind of core at most; 0 for 200. Not for bief_plan.
    size_t executions;
} bief_planning;

// A wire between tasks of a chain: a number that the chain gives. 0 is none.
typedef uint64_t bief_wire;

// What a task sees of one socket: a frame, or, if it takes batches, frames one after the other.
typedef struct bief_slice {
    // The elements; those of an input are not to be written. The first is aligned to 64 bytes where a batch begins, else to
    // its own size.
    void *data;
    // How many elements a frame has. Of a variable frame that the task makes or rewrites it is set by the task: it is 0 for
    // what it makes, and at most `capacity`.
    size_t len;
    // How many elements a frame has room for.
    size_t capacity;
} bief_slice;

// A task. Functions that it does not need are NULL. No function may let a C++ exception pass, or leave by longjmp.
//
// A state is used by one thread at a time, though not always by the same one. What copies of it share is used by several
// threads at once, and must be made for that.
typedef struct bief_task {
    // sizeof(bief_task), set by the program.
    size_t size;
    // Its name in profiles, reports and errors. A number is added where the chain has that name.
    const char *name;
    // Its sockets, 16 at most, in the order in which `run` gets them, separated by commas: `in f32`, `in-place complex<f32>` (rewritten),
    // `out 64 x u8`, `in variable u8` (each frame has a length of its own), `out variable 188 x u8` (at most 188). Elements
    // are u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 complex<f32> complex<f64>; complex numbers are real part, imaginary part. A
    // number says how long frames are, several (`8 x 8 x f32`) their shape. An input without one takes any length; an output
    // without one is as long as the first input.
    const char *sockets;
    // Handed to every function.
    void *state;
    // Works on a frame: BIEF_NEXT, BIEF_SKIP, BIEF_STOP, or less than 0 to end the run with an error.
    int32_t (*run)(void *state, struct bief_slice *sockets, struct bief_call *call);
    // Sets the lengths of outputs that neither `sockets` nor the first input tell, from those of the inputs; `outputs` holds
    // what is known already. Returns 0, or less than 0 for inputs that do not fit, and says in `call` what does. Asked when
    // the task is added.
    int32_t (*lens)(void *state, const size_t *inputs, size_t *outputs, struct bief_call *call);
    // Makes a state that does the same, for a replica on another core: returns 0 and sets `copy`, or less than 0 if it cannot.
    // NULL for a task that remembers something from frame to frame: it is never replicated. Copies are also made to find out
    // whether there can be one. Never called while `run` is, for the same state.
    int32_t (*copy)(const void *state, void **copy);
    // Frees a state: the first one and each copy, once.
    void (*free)(void *state);
    // Called after the last frame of a run, also of one that failed: the place to flush. Returns 0, or less than 0.
    int32_t (*finish)(void *state, struct bief_call *call);
    // Called before each run of a pipeline but the first: the place to begin anew. Returns 0, or less than 0.
    int32_t (*reset)(void *state, struct bief_call *call);
    // How many elements a source had to drop in this run, because they came faster than it was asked for them.
    uint64_t (*lost)(const void *state);
    // Tells what the task has counted and measured in this run, by bief_figure_count and bief_figure_level.
    void (*figures)(const void *state, struct bief_figures *figures);
    // Not 0: `run` takes frames that lie one after the other at once, `call->frames` of them, each of `len` elements. Only for
    // tasks whose frames all have one length. What `run` returns then counts for all of them.
    int32_t batches;
} bief_task;

// What went wrong, and where: filled by bief_last_error.
//
// Texts belong to the library, and are valid until the next function that fails on this thread.
typedef struct bief_error {
    // sizeof(bief_error), set by the program.
    size_t size;
    // What the function returned, less than 0.
    int32_t status;
    // What a task of C returned, less than 0; 0 where none failed.
    int32_t code;
    // What went wrong, without the place.
    const char *message;
    // The stage; NULL where it does not apply.
    const char *stage;
    // The task; NULL where it does not apply.
    const char *task;
    // The number of the frame, counted from 0 as the source made them; -1 where it does not apply.
    int64_t frame;
    // All of it in one line: "task `x` (stage `y`, frame 3): message".
    const char *text;
} bief_error;

// How a chain is run. All fields but the size may be 0.
typedef struct bief_options {
    // sizeof(bief_options), set by the program.
    size_t size;
    // The schedule to run, a JSON document; NULL for the stages as they are marked, or the calling thread where none is.
    const char *schedule;
    // The profile to stand beside the measured times, a JSON document; NULL for none.
    const char *profile;
    // Where threads run: loose, guided, packed, distant, dynamic, or places such as "0; 1-3 | little"; NULL leaves it to the
    // system.
    const char *place;
    // How threads wait for each other's frames: adaptive, passive or active; NULL for adaptive.
    const char *waiting;
    // How many batches may lie between two stages for each replica; 0 for 4.
    size_t depth;
    // Not 0: the report tells the times of each task, latency, and how full the rings were.
    int32_t observe;
} bief_options;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Makes an application of what builds its chain. The state belongs to it from then on; if the function fails it is still the
// caller's.
int32_t bief_application_new(const struct bief_build *build,
                             struct bief_application **application);

// Makes an application of a chain file (TOML). Relative paths in it are relative to its folder.
int32_t bief_application_read(const char *path, struct bief_application **application);

// Makes an application of the text of a chain file, which errors call `name`.
int32_t bief_application_parse(const char *chain, const char *name, struct bief_application **application);

// Frees an application; NULL is none. What was made of it lives on.
void bief_application_free(struct bief_application *application);

// Plans an application: measures its tasks unless a profile is given, schedules them for the goal, and refines the plan by
// trials if that is asked for. `planning` NULL is all defaults.
int32_t bief_application_plan(const struct bief_application *application,
                              const struct bief_planning *planning,
                              struct bief_planned **planned);

// Makes the pipeline of an application by its plan: cut into stages, its threads placed, observed beside the plan.
int32_t bief_application_pipeline(struct bief_application *application,
                                  const struct bief_planned *planned,
                                  struct bief_pipeline **pipeline);

// Gives a plan as a JSON document: `machine`, `profile`, `schedule`, `refined` (null, or how) and `notes`, as `bief run --json`
// prints them.
int32_t bief_planned_json(const struct bief_planned *planned,
                          char **document);

// Frees a plan; NULL is none.
void bief_planned_free(struct bief_planned *planned);

// Makes an empty chain with batches of one frame.
int32_t bief_chain_new(struct bief_chain **chain);

// Builds the chain that a file describes, with its stages marked, to be run or added to; bief_chain_wire finds its wires.
int32_t bief_chain_read(const char *path,
                        struct bief_chain **chain);

// Frees a chain; NULL is none. A chain that a callback was given is not freed.
void bief_chain_free(struct bief_chain *chain);

// Finds a wire of a chain file by its name.
int32_t bief_chain_wire(struct bief_chain *chain, const char *name, bief_wire *wire);

// Sets how many frames travel and are worked on together, at least 1.
int32_t bief_chain_batch(struct bief_chain *chain, size_t frames);

// Adds a task, binds its inputs, and tells the wires that it makes: as many as it has sockets of each sort.
//
// The state belongs to the chain from then on. If the function fails it is still the caller's, and the chain is as before.
int32_t bief_chain_add(struct bief_chain *chain,
                       const struct bief_task *task,
                       const bief_wire *inputs,
                       size_t input_count,
                       bief_wire *outputs,
                       size_t output_count);

// Adds what a built-in kind (`bief run --kinds` lists them) makes of parameters, a JSON object such as
// `{"target": 1.0}`, or NULL for none. Relative paths are relative to the current folder.
//
// In the chain of an application (bief_application_new) a kind uses up no input in a rehearsal, and touches no output.
int32_t bief_chain_make(struct bief_chain *chain,
                        const char *name,
                        const char *kind,
                        const char *parameters,
                        const bief_wire *inputs,
                        size_t input_count,
                        bief_wire *outputs,
                        size_t output_count);

// Begins a stage at the task that is added next: so many replicas run it.
int32_t bief_chain_stage(struct bief_chain *chain, const char *name, size_t threads);

// Measures each task of a chain on this thread, in so many batches, and gives a profile, a JSON document. The frames are
// worked on and gone.
int32_t bief_chain_profile(struct bief_chain *chain,
                           size_t executions,
                           char **profile);

// The version of the interface that the library has: major << 16 | minor. A program works with a library of its own major
// version and of its own or a greater minor version.
uint32_t bief_abi_version(void);

// Tells what the last function of this thread that failed had to say.
//
// Returns BIEF_OK; BIEF_ERROR_ARGUMENT where none has failed yet, or `error` is NULL or has no size.
int32_t bief_last_error(struct bief_error *error);

// Cuts a chain into stages: those of a schedule, or those that are marked. Without any it is run by the calling thread.
int32_t bief_chain_pipeline(struct bief_chain *chain,
                            const struct bief_options *options,
                            struct bief_pipeline **pipeline);

// Runs a chain, by its marked stages or on the calling thread, and gives a report, a JSON document.
int32_t bief_chain_run(struct bief_chain *chain, char **report);

// Runs a pipeline until its source stops, a task stops the stream, or a stopper does, and gives a report, a JSON document. A
// task that fails ends the run: frames before it are delivered, and bief_last_error tells the task and the frame.
int32_t bief_pipeline_run(struct bief_pipeline *pipeline,
                          char **report);

// Frees a pipeline, its tasks and their states, and ends its threads; NULL is none.
void bief_pipeline_free(struct bief_pipeline *pipeline);

// Makes what stops runs of a pipeline. It may outlive the pipeline.
int32_t bief_pipeline_stopper(struct bief_pipeline *pipeline, struct bief_stopper **stopper);

// Ends the run that goes on, or the next one before its first frame: what the first stage has taken is delivered. It does not
// wait for that. Any thread may call it at any time, also a task, and so may a signal handler. NULL does nothing.
void bief_stopper_stop(const struct bief_stopper *stopper);

// Frees a stopper; NULL is none.
void bief_stopper_free(struct bief_stopper *stopper);

// Plans a profile: gives the schedule that `bief plan --json` prints.
int32_t bief_plan(const struct bief_planning *planning, char **schedule);

// Gives the cores that this process may use, their kinds and what they share, as a JSON document.
int32_t bief_machine(char **machine);

// For `copy` of tasks whose state is only read, or that have none: copies are the same pointer. `free` must be NULL then.
int32_t bief_share(const void *state,
                   void **copy);

// Reports how often something happened in this run, or how much of something there was: replicas add up. A count
// `information` in `bits` tells profiles how many bits a frame carries.
int32_t bief_figure_count(struct bief_figures *figures,
                          const char *name,
                          const char *unit,
                          uint64_t count);

// Reports what was measured in this run, and how much stands behind it (frames, most often): replicas become their mean by
// weight. A value that is not finite, or has no weight, is left out.
int32_t bief_figure_level(struct bief_figures *figures,
                          const char *name,
                          const char *unit,
                          double mean,
                          double weight);

// Frees a text that a function of this library gave; NULL is none.
void bief_text_free(char *text);

// The version of this library, as `"0.1.0"`; it need not be freed.
const char *bief_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* BIEF_H */
