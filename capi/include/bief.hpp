// Bief in C++17, over bief.h: tasks are lambdas or classes, handles free themselves, exceptions go through a run.
//
//     bief::Chain chain;
//     auto x = chain.add(bief::Task("ramp", Ramp{}).lens({64}));          // a source says how long its frames are
//     auto y = chain.add(bief::Task("gain", [](bief::In<float> x, bief::Out<float> y) {
//                                    for (std::size_t i = 0; i < x.size(); ++i) y[i] = 2 * x[i];
//                                }).replicable(), x);
//     chain.add("sum", [&sum](bief::In<float> y) { for (float v : y) sum += v; }, y);
//     std::string report = chain.run();
//
// What fails throws bief::Error. What a task throws ends the run, and is thrown again where the run was begun, with its own
// type; bief::last_error() then tells the task and the frame. Threads: as bief.h says.
// Licence: MIT OR Apache-2.0.

#ifndef BIEF_HPP
#define BIEF_HPP

#include "bief.h"

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace bief {

/// What went wrong, and where.
class Error : public std::runtime_error {
public:
    explicit Error(const bief_error &error)
        : std::runtime_error(error.text), status_(error.status), message_(error.message),
          stage_(error.stage ? error.stage : ""), task_(error.task ? error.task : ""), frame_(error.frame) {}
    explicit Error(const std::string &message) : std::runtime_error(message), message_(message) {}

    /// BIEF_ERROR_...
    int status() const { return status_; }
    /// What went wrong, without the place; what() is all of it.
    const std::string &message() const { return message_; }
    /// Empty where it does not apply.
    const std::string &stage() const { return stage_; }
    /// Empty where it does not apply.
    const std::string &task() const { return task_; }
    /// -1 where it does not apply.
    std::int64_t frame() const { return frame_; }

private:
    int status_ = BIEF_ERROR_ARGUMENT;
    std::string message_, stage_, task_;
    std::int64_t frame_ = -1;
};

/// What failed last on this thread: beside an exception of a task, where it was thrown.
inline Error last_error() {
    bief_error error{};
    error.size = sizeof error;
    return bief_last_error(&error) == BIEF_OK ? Error(error) : Error("nothing has failed on this thread");
}

/// What happens to a frame after a task. A task that returns nothing passes every frame on.
enum class Flow : std::int32_t { Next = BIEF_NEXT, Skip = BIEF_SKIP, Stop = BIEF_STOP };

/// Elements that lie one after the other.
template <class T> class Slice {
public:
    Slice(T *data, std::size_t size) : data_(data), size_(size) {}
    T *data() const { return data_; }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    T *begin() const { return data_; }
    T *end() const { return data_ + size_; }
    T &operator[](std::size_t index) const { return data_[index]; }

private:
    T *data_;
    std::size_t size_;
};

namespace detail {

/// A variable frame that a task writes.
template <class T> class Variable {
public:
    explicit Variable(bief_slice &slice) : slice_(&slice) {}
    T *data() const { return static_cast<T *>(slice_->data); }
    std::size_t size() const { return slice_->len; }
    std::size_t capacity() const { return slice_->capacity; }
    bool empty() const { return size() == 0; }
    T *begin() const { return data(); }
    T *end() const { return data() + size(); }
    T &operator[](std::size_t index) const { return data()[index]; }
    /// Sets how long the frame is; its elements stay.
    void resize(std::size_t size) const {
        if (size > capacity())
            throw std::length_error("a frame of " + std::to_string(size) + " elements, where at most " +
                                    std::to_string(capacity()) + " have room");
        slice_->len = size;
    }

private:
    bief_slice *slice_;
};

template <class T> struct Fixed : Slice<T> {
    Fixed(bief_slice &slice, std::size_t frames) : Slice<T>(static_cast<T *>(slice.data), slice.len * frames) {}
};

} // namespace detail

// What a task takes, in any order: `In<float>` reads, `InOut<float>` rewrites, `Out<float>` makes frames of one length; the
// others frames that have a length of their own. With Task::batches, frames of one length that lie one after the other come as
// one slice.
template <class T> struct In : detail::Fixed<const T> { using detail::Fixed<const T>::Fixed; };
template <class T> struct InOut : detail::Fixed<T> { using detail::Fixed<T>::Fixed; };
template <class T> struct Out : detail::Fixed<T> { using detail::Fixed<T>::Fixed; };
template <class T> struct InVar : Slice<const T> {
    InVar(bief_slice &slice, std::size_t) : Slice<const T>(static_cast<const T *>(slice.data), slice.len) {}
};
template <class T> struct InOutVar : detail::Variable<T> {
    InOutVar(bief_slice &slice, std::size_t) : detail::Variable<T>(slice) {}
};
template <class T> struct OutVar : detail::Variable<T> {
    OutVar(bief_slice &slice, std::size_t) : detail::Variable<T>(slice) {}
};

/// What a task may take last, to know which frame it works on.
class Call {
public:
    explicit Call(bief_call &call) : call_(&call) {}
    /// The number of the (first) frame, as the source counts.
    std::int64_t frame() const { return call_->frame; }
    /// How many frames there are: 1, but with Task::batches.
    std::size_t frames() const { return call_->frames; }
    /// With Task::batches: says how many frames are finished, before the stream is stopped or something is thrown.
    void done(std::size_t frames) const { call_->done = frames; }

private:
    bief_call *call_;
};

/// What a task reports of its work, in a member `void figures(bief::Figures) const`.
class Figures {
public:
    explicit Figures(bief_figures *figures) : figures_(figures) {}
    void count(const std::string &name, const std::string &unit, std::uint64_t count) const {
        bief_figure_count(figures_, name.c_str(), unit.c_str(), count);
    }
    void level(const std::string &name, const std::string &unit, double mean, double weight) const {
        bief_figure_level(figures_, name.c_str(), unit.c_str(), mean, weight);
    }

private:
    bief_figures *figures_;
};

/// A wire between tasks of a chain.
struct Wire {
    bief_wire number = 0;
};

namespace detail {

template <class T> struct Element { static_assert(sizeof(T) == 0, "wires carry integers, floats and complex numbers of C++"); };
#define BIEF_ELEMENT(Type, text) template <> struct Element<Type> { static constexpr const char *name = text; }
BIEF_ELEMENT(std::uint8_t, "u8");
BIEF_ELEMENT(std::int8_t, "i8");
BIEF_ELEMENT(std::uint16_t, "u16");
BIEF_ELEMENT(std::int16_t, "i16");
BIEF_ELEMENT(std::uint32_t, "u32");
BIEF_ELEMENT(std::int32_t, "i32");
BIEF_ELEMENT(std::uint64_t, "u64");
BIEF_ELEMENT(std::int64_t, "i64");
BIEF_ELEMENT(float, "f32");
BIEF_ELEMENT(double, "f64");
BIEF_ELEMENT(std::complex<float>, "complex<f32>");
BIEF_ELEMENT(std::complex<double>, "complex<f64>");
#undef BIEF_ELEMENT

template <class A> struct Socket { static_assert(sizeof(A) == 0, "a task takes In, InOut, Out, InVar, InOutVar, OutVar, and last a Call"); };
template <class T, bool makes> struct Known {
    static constexpr bool is_output = makes;
    static std::string text(const char *direction) { return std::string(direction) + Element<T>::name; }
};
template <class T> struct Socket<In<T>> : Known<T, false> { static constexpr const char *direction = "in "; };
template <class T> struct Socket<InOut<T>> : Known<T, false> { static constexpr const char *direction = "in-place "; };
template <class T> struct Socket<Out<T>> : Known<T, true> { static constexpr const char *direction = "out "; };
template <class T> struct Socket<InVar<T>> : Known<T, false> { static constexpr const char *direction = "in variable "; };
template <class T> struct Socket<InOutVar<T>> : Known<T, false> { static constexpr const char *direction = "in-place variable "; };
template <class T> struct Socket<OutVar<T>> : Known<T, true> { static constexpr const char *direction = "out variable "; };

/// Sockets, and whether a Call follows them.
template <class R, class Taken, class... Rest> struct Split;
template <class R, class... S> struct Split<R, std::tuple<S...>> {
    using Result = R;
    static constexpr bool takes_call = false;
    static constexpr std::size_t outputs = (std::size_t{0} + ... + (Socket<S>::is_output ? 1 : 0));
    static constexpr std::size_t inputs = sizeof...(S) - outputs;
    static std::string sockets() {
        std::string all;
        ((all += (all.empty() ? "" : ", ") + Socket<S>::text(Socket<S>::direction)), ...);
        return all;
    }
    template <class F, std::size_t... I>
    static decltype(auto) apply(F &work, bief_slice *slices, bief_call &call, std::index_sequence<I...>) {
        (void)slices;
        (void)call;
        return work(S(slices[I], call.frames)...);
    }
    template <class F> static decltype(auto) apply(F &work, bief_slice *slices, bief_call &call) {
        return apply(work, slices, call, std::index_sequence_for<S...>());
    }
};
template <class R, class... S> struct Split<R, std::tuple<S...>, Call> : Split<R, std::tuple<S...>> {
    template <class F, std::size_t... I>
    static decltype(auto) apply(F &work, bief_slice *slices, bief_call &call, std::index_sequence<I...>) {
        (void)slices;
        return work(S(slices[I], call.frames)..., Call(call));
    }
    template <class F> static decltype(auto) apply(F &work, bief_slice *slices, bief_call &call) {
        return apply(work, slices, call, std::index_sequence_for<S...>());
    }
};
template <class R, class... S, class A, class... Rest>
struct Split<R, std::tuple<S...>, A, Rest...> : Split<R, std::tuple<S..., A>, Rest...> {};

/// The sockets of what can be called.
template <class F> struct Signature : Signature<decltype(&F::operator())> {};
template <class R, class... A> struct Signature<R (*)(A...)> : Split<R, std::tuple<>, std::decay_t<A>...> {};
template <class R, class... A> struct Signature<R (*)(A...) noexcept> : Signature<R (*)(A...)> {};
template <class C, class R, class... A> struct Signature<R (C::*)(A...)> : Signature<R (*)(A...)> {};
template <class C, class R, class... A> struct Signature<R (C::*)(A...) const> : Signature<R (*)(A...)> {};
template <class C, class R, class... A> struct Signature<R (C::*)(A...) noexcept> : Signature<R (*)(A...)> {};
template <class C, class R, class... A> struct Signature<R (C::*)(A...) const noexcept> : Signature<R (*)(A...)> {};

template <class F, class = void> struct HasFinish : std::false_type {};
template <class F> struct HasFinish<F, std::void_t<decltype(std::declval<F &>().finish())>> : std::true_type {};
template <class F, class = void> struct HasReset : std::false_type {};
template <class F> struct HasReset<F, std::void_t<decltype(std::declval<F &>().reset())>> : std::true_type {};
template <class F, class = void> struct HasFigures : std::false_type {};
template <class F>
struct HasFigures<F, std::void_t<decltype(std::declval<const F &>().figures(std::declval<Figures>()))>> : std::true_type {};

/// What tasks of a chain have thrown, by the codes that they returned instead.
class Thrown {
public:
    /// Does something that may throw: then it answers a code, and says why.
    template <class Act> std::int32_t guard(bief_call *call, Act act) noexcept {
        try {
            return act();
        } catch (const std::exception &error) {
            return keep(std::current_exception(), error.what(), call);
        } catch (...) {
            return keep(std::current_exception(), "an exception that is no std::exception", call);
        }
    }

    /// Throws what failed: the exception of a task, or an error. What other tasks have thrown is forgotten.
    void check(std::int32_t status) {
        if (status >= 0)
            return;
        bief_error error{};
        error.size = sizeof error;
        if (bief_last_error(&error) != BIEF_OK)
            throw Error("failed, and did not say why");
        std::exception_ptr thrown;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            auto found = kept_.find(error.code);
            if (found != kept_.end())
                thrown = found->second;
            kept_.clear();
        }
        if (thrown)
            std::rethrow_exception(thrown);
        throw Error(error);
    }

private:
    std::int32_t keep(std::exception_ptr thrown, const char *what, bief_call *call) noexcept {
        if (call && call->error_size > 0) {
            std::strncpy(call->error, what, call->error_size - 1);
            call->error[call->error_size - 1] = 0;
        }
        try {
            std::lock_guard<std::mutex> lock(mutex_);
            // Codes of the library itself are near 0.
            last_ = last_ <= INT32_MIN + 1 ? FIRST : last_ - 1;
            kept_[last_] = std::move(thrown);
            return last_;
        } catch (...) {
            return -1; // no memory to keep it in: the text is told
        }
    }

    static constexpr std::int32_t FIRST = -1000;
    std::mutex mutex_;
    std::int32_t last_ = FIRST;
    std::map<std::int32_t, std::exception_ptr> kept_;
};

inline void check(std::int32_t status) {
    if (status < 0)
        throw last_error();
}

/// A text that the library gave, freed.
inline std::string taken(char *text) {
    std::unique_ptr<char, void (*)(char *)> owned(text, bief_text_free);
    return text ? std::string(text) : std::string();
}

inline const char *given(const std::string &text) { return text.empty() ? nullptr : text.c_str(); }

using Lens = std::function<std::vector<std::size_t>(const std::vector<std::size_t> &)>;

/// The state of a task.
template <class F> struct Holder {
    F work;
    std::shared_ptr<Thrown> thrown;
    std::shared_ptr<Lens> lens;

    static std::int32_t run(void *state, bief_slice *slices, bief_call *call) {
        auto &own = *static_cast<Holder *>(state);
        return own.thrown->guard(call, [&]() -> std::int32_t {
            if constexpr (std::is_void_v<typename Signature<F>::Result>) {
                Signature<F>::apply(own.work, slices, *call);
                return BIEF_NEXT;
            } else {
                static_assert(std::is_same_v<typename Signature<F>::Result, Flow>, "a task returns nothing, or a bief::Flow");
                return static_cast<std::int32_t>(Signature<F>::apply(own.work, slices, *call));
            }
        });
    }

    static std::int32_t lengths(void *state, const std::size_t *inputs, std::size_t *outputs, bief_call *call) {
        auto &own = *static_cast<Holder *>(state);
        return own.thrown->guard(call, [&]() -> std::int32_t {
            auto lens = (*own.lens)(std::vector<std::size_t>(inputs, inputs + Signature<F>::inputs));
            if (lens.size() != Signature<F>::outputs)
                throw std::invalid_argument("lens gives " + std::to_string(lens.size()) + " lengths for " +
                                            std::to_string(Signature<F>::outputs) + " outputs: give one for each");
            for (std::size_t output = 0; output < lens.size(); ++output)
                outputs[output] = lens[output];
            return 0;
        });
    }

    static std::int32_t copy(const void *state, void **copy) {
        try {
            *copy = new Holder(*static_cast<const Holder *>(state));
            return 0;
        } catch (...) {
            return -1;
        }
    }

    static void free(void *state) { delete static_cast<Holder *>(state); }

    static std::int32_t finish(void *state, bief_call *call) {
        auto &own = *static_cast<Holder *>(state);
        return own.thrown->guard(call, [&] { return own.work.finish(), 0; });
    }

    static std::int32_t reset(void *state, bief_call *call) {
        auto &own = *static_cast<Holder *>(state);
        return own.thrown->guard(call, [&] { return own.work.reset(), 0; });
    }

    static void figures(const void *state, bief_figures *figures) {
        auto &own = *static_cast<const Holder *>(state);
        // There is nobody to tell: figures are what a task can do without.
        own.thrown->guard(nullptr, [&] { return own.work.figures(Figures(figures)), 0; });
    }
};

} // namespace detail

/// A task of something that can be called with sockets: a lambda, or an object of a class with `operator()`. Members `finish()`,
/// `reset()` and `figures(bief::Figures) const` of the class are called as those of bief_task.
template <class F> class Task {
public:
    Task(std::string name, F work) : name_(std::move(name)), work_(std::move(work)) {}

    /// Says that it remembers nothing from frame to frame: copies may work side by side on several cores.
    Task replicable() && {
        static_assert(std::is_copy_constructible_v<F>, "a task that is replicated can be copied");
        replicable_ = true;
        return std::move(*this);
    }

    /// Takes frames that lie one after the other as one slice.
    Task batches() && {
        batches_ = true;
        return std::move(*this);
    }

    /// How long the frames of each output are; without it they are as long as those of the first input. Of a variable output
    /// it is the most that a frame may have.
    Task lens(std::vector<std::size_t> lens) && {
        return std::move(*this).lens([lens](const std::vector<std::size_t> &) { return lens; });
    }

    /// The same, from the lengths of the inputs; it throws where they do not fit.
    Task lens(detail::Lens lens) && {
        lens_ = std::make_shared<detail::Lens>(std::move(lens));
        return std::move(*this);
    }

private:
    friend class Chain;
    std::string name_;
    F work_;
    bool replicable_ = false, batches_ = false;
    std::shared_ptr<detail::Lens> lens_;
};

/// How a chain is run: as bief_options. Texts that are empty are not given.
struct Options {
    std::string schedule, profile, place, waiting;
    std::size_t depth = 0;
    bool observe = false;
};

/// What is planned, and for what: as bief_planning. Texts that are empty are not given.
struct Planning {
    std::string profile, cores, platform, goal, strategy, machine, schedule, place;
    std::size_t refine = 0, executions = 0;

    /// The same for C, valid as long as this is.
    bief_planning c() const {
        using detail::given;
        bief_planning planning{};
        planning.size = sizeof planning;
        planning.profile = given(profile);
        planning.cores = given(cores);
        planning.platform = given(platform);
        planning.goal = given(goal);
        planning.strategy = given(strategy);
        planning.machine = given(machine);
        planning.schedule = given(schedule);
        planning.place = given(place);
        planning.refine = refine;
        planning.executions = executions;
        return planning;
    }
};

/// The schedule of a profile, as `bief plan --json` prints it.
inline std::string plan(const Planning &planning) {
    bief_planning c = planning.c();
    char *schedule = nullptr;
    detail::check(bief_plan(&c, &schedule));
    return detail::taken(schedule);
}

/// The cores that this process may use, as a JSON document.
inline std::string machine() {
    char *machine = nullptr;
    detail::check(bief_machine(&machine));
    return detail::taken(machine);
}

/// Ends a run from elsewhere: from any thread, task or signal handler.
class Stopper {
public:
    void stop() const noexcept { bief_stopper_stop(handle_.get()); }

private:
    friend class Pipeline;
    explicit Stopper(bief_stopper *handle) : handle_(handle, bief_stopper_free) {}
    std::shared_ptr<bief_stopper> handle_;
};

/// A chain cut into stages, ready to run any number of times.
class Pipeline {
public:
    /// Runs until the stream ends, and answers the report, a JSON document.
    std::string run() {
        char *report = nullptr;
        thrown_->check(bief_pipeline_run(handle_.get(), &report));
        return detail::taken(report);
    }

    Stopper stopper() const {
        bief_stopper *stopper = nullptr;
        detail::check(bief_pipeline_stopper(handle_.get(), &stopper));
        return Stopper(stopper);
    }

private:
    friend class Chain;
    friend class Application;
    Pipeline(bief_pipeline *handle, std::shared_ptr<detail::Thrown> thrown)
        : thrown_(std::move(thrown)), handle_(handle, bief_pipeline_free) {}
    std::shared_ptr<detail::Thrown> thrown_;
    std::unique_ptr<bief_pipeline, void (*)(bief_pipeline *)> handle_;
};

/// A chain of tasks that is being written.
class Chain {
public:
    /// An empty chain with batches of so many frames.
    explicit Chain(std::size_t batch = 1) : Chain(made(), bief_chain_free, std::make_shared<detail::Thrown>()) {
        detail::check(bief_chain_batch(handle_.get(), batch));
    }

    /// The chain that a file describes, to be run or added to.
    static Chain read(const std::string &path) {
        bief_chain *chain = nullptr;
        detail::check(bief_chain_read(path.c_str(), &chain));
        return Chain(chain, bief_chain_free, std::make_shared<detail::Thrown>());
    }

    /// A wire of a chain file by its name.
    Wire wire(const std::string &name) const {
        Wire wire;
        detail::check(bief_chain_wire(handle_.get(), name.c_str(), &wire.number));
        return wire;
    }

    /// Sets how many frames travel and are worked on together.
    void batch(std::size_t frames) { detail::check(bief_chain_batch(handle_.get(), frames)); }

    /// Adds a task and binds its inputs. Answers the wire that it makes, or an array of them if it makes several.
    template <class F, class... W> auto add(Task<F> task, W... wires) {
        using Signature = detail::Signature<F>;
        static_assert((std::is_same_v<W, Wire> && ...), "a task is bound to wires");
        static_assert(sizeof...(W) == Signature::inputs, "a task is bound to one wire for each In, InOut, InVar and InOutVar");
        using Holder = detail::Holder<F>;
        const std::string sockets = Signature::sockets();
        const bool has_lens = task.lens_ != nullptr;
        std::unique_ptr<Holder> state(new Holder{std::move(task.work_), thrown_, std::move(task.lens_)});
        bief_task c{};
        c.size = sizeof c;
        c.name = task.name_.c_str();
        c.sockets = sockets.c_str();
        c.state = state.get();
        c.run = Holder::run;
        c.free = Holder::free;
        c.batches = task.batches_;
        if (has_lens)
            c.lens = Holder::lengths;
        if constexpr (std::is_copy_constructible_v<F>)
            c.copy = task.replicable_ ? Holder::copy : nullptr;
        if constexpr (detail::HasFinish<F>::value)
            c.finish = Holder::finish;
        if constexpr (detail::HasReset<F>::value)
            c.reset = Holder::reset;
        if constexpr (detail::HasFigures<F>::value)
            c.figures = Holder::figures;
        const std::array<bief_wire, sizeof...(W)> inputs{wires.number...};
        std::array<bief_wire, Signature::outputs> outputs{};
        thrown_->check(bief_chain_add(handle_.get(), &c, inputs.data(), inputs.size(), outputs.data(), outputs.size()));
        state.release();
        if constexpr (Signature::outputs == 1) {
            return Wire{outputs[0]};
        } else if constexpr (Signature::outputs > 1) {
            std::array<Wire, Signature::outputs> made;
            for (std::size_t output = 0; output < made.size(); ++output)
                made[output].number = outputs[output];
            return made;
        }
    }

    /// The same, for what can be called and is no more than that: it is never replicated.
    template <class F, class... W> auto add(std::string name, F work, W... wires) {
        return add(Task<F>(std::move(name), std::move(work)), wires...);
    }

    /// Adds what a built-in kind makes of parameters, a JSON object; it makes so many wires.
    std::vector<Wire> make(const std::string &name, const std::string &kind, const std::string &parameters,
                           const std::vector<Wire> &wires, std::size_t outputs) {
        std::vector<bief_wire> inputs, made(outputs);
        for (Wire wire : wires)
            inputs.push_back(wire.number);
        detail::check(bief_chain_make(handle_.get(), name.c_str(), kind.c_str(), detail::given(parameters), inputs.data(),
                                      inputs.size(), made.data(), made.size()));
        std::vector<Wire> named;
        for (bief_wire wire : made)
            named.push_back(Wire{wire});
        return named;
    }

    /// Begins a stage at the task that is added next: so many replicas run it.
    void stage(const std::string &name, std::size_t threads = 1) {
        detail::check(bief_chain_stage(handle_.get(), name.c_str(), threads));
    }

    /// Cuts the chain into stages: those of a schedule, or those that are marked. The chain is used up.
    Pipeline pipeline(const Options &options = {}) {
        bief_options c{};
        c.size = sizeof c;
        c.schedule = detail::given(options.schedule);
        c.profile = detail::given(options.profile);
        c.place = detail::given(options.place);
        c.waiting = detail::given(options.waiting);
        c.depth = options.depth;
        c.observe = options.observe;
        bief_pipeline *pipeline = nullptr;
        thrown_->check(bief_chain_pipeline(handle_.get(), &c, &pipeline));
        return Pipeline(pipeline, thrown_);
    }

    /// Runs the chain, by its marked stages or on this thread, and answers the report, a JSON document. The chain is used up.
    std::string run() {
        char *report = nullptr;
        thrown_->check(bief_chain_run(handle_.get(), &report));
        return detail::taken(report);
    }

    /// Measures the tasks on this thread, in so many batches: a profile. The chain is used up.
    std::string profile(std::size_t executions) {
        char *profile = nullptr;
        thrown_->check(bief_chain_profile(handle_.get(), executions, &profile));
        return detail::taken(profile);
    }

private:
    friend class Application;
    using Free = void (*)(bief_chain *);
    Chain(bief_chain *handle, Free free, std::shared_ptr<detail::Thrown> thrown)
        : thrown_(std::move(thrown)), handle_(handle, free) {}

    static bief_chain *made() {
        bief_chain *chain = nullptr;
        detail::check(bief_chain_new(&chain));
        return chain;
    }

    std::shared_ptr<detail::Thrown> thrown_;
    std::unique_ptr<bief_chain, Free> handle_;
};

/// A plan of an application.
class Plan {
public:
    /// machine, profile, schedule, refined and notes, as a JSON document.
    std::string json() const {
        char *document = nullptr;
        detail::check(bief_planned_json(handle_.get(), &document));
        return detail::taken(document);
    }

private:
    friend class Application;
    explicit Plan(bief_planned *handle) : handle_(handle, bief_planned_free) {}
    std::unique_ptr<bief_planned, void (*)(bief_planned *)> handle_;
};

/// A chain that is measured and tried before it is run.
class Application {
public:
    /// `build` adds all tasks to an empty chain: for the run where its second argument is 0, else for a rehearsal of so many
    /// frames at most, that uses up no input and writes nothing.
    explicit Application(std::function<void(Chain &, std::uint64_t)> build) {
        auto state = std::make_unique<State>(State{std::move(build), thrown_});
        bief_build c{};
        c.size = sizeof c;
        c.state = state.get();
        c.build = State::call;
        c.free = State::free;
        bief_application *application = nullptr;
        detail::check(bief_application_new(&c, &application));
        state.release();
        handle_.reset(application);
    }

    /// A chain file.
    static Application read(const std::string &path) {
        bief_application *application = nullptr;
        detail::check(bief_application_read(path.c_str(), &application));
        return Application(application);
    }

    Plan plan(const Planning &planning = {}) const {
        bief_planning c = planning.c();
        bief_planned *planned = nullptr;
        thrown_->check(bief_application_plan(handle_.get(), &c, &planned));
        return Plan(planned);
    }

    Pipeline pipeline(const Plan &plan) {
        bief_pipeline *pipeline = nullptr;
        thrown_->check(bief_application_pipeline(handle_.get(), plan.handle_.get(), &pipeline));
        return Pipeline(pipeline, thrown_);
    }

private:
    struct State {
        std::function<void(Chain &, std::uint64_t)> build;
        std::shared_ptr<detail::Thrown> thrown;

        static std::int32_t call(void *state, bief_chain *handle, std::uint64_t rehearsal, bief_call *call) {
            auto &own = *static_cast<State *>(state);
            return own.thrown->guard(call, [&] {
                Chain chain(handle, [](bief_chain *) {}, own.thrown);
                own.build(chain, rehearsal);
                return 0;
            });
        }
        static void free(void *state) { delete static_cast<State *>(state); }
    };

    explicit Application(bief_application *handle) : handle_(handle, bief_application_free) {}

    std::shared_ptr<detail::Thrown> thrown_ = std::make_shared<detail::Thrown>();
    std::unique_ptr<bief_application, void (*)(bief_application *)> handle_{nullptr, bief_application_free};
};

} // namespace bief

#endif // BIEF_HPP
