// What bief.hpp says, tried one by one. It is given the folder `data` of the repository.

#include "bief.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#define CHECK(what) \
    do { \
        if (!(what)) { \
            std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
            std::exit(1); \
        } \
    } while (0)

namespace {

std::atomic<int> alive{0};

/// Counts how many of it there are.
struct Alive {
    Alive() { ++alive; }
    Alive(const Alive &) { ++alive; }
    Alive(Alive &&) noexcept { ++alive; }
    ~Alive() { --alive; }
};

/// 0 0 0 0, 1 1 1 1, ...
class Ramp {
public:
    explicit Ramp(int end) : end_(end) {}
    bief::Flow operator()(bief::Out<float> out) {
        if (next_ == end_)
            return bief::Flow::Stop;
        for (float &x : out)
            x = static_cast<float>(next_);
        ++next_;
        return bief::Flow::Next;
    }
    void reset() { next_ = 0; }

private:
    Alive alive_;
    int next_ = 0, end_;
};

bief::Wire ramp(bief::Chain &chain, int end) { return chain.add(bief::Task("ramp", Ramp(end)).lens({4})); }

/// An exception of a type of its own.
struct Broken : std::runtime_error {
    explicit Broken(std::int64_t frame) : std::runtime_error("the filter broke"), frame(frame) {}
    std::int64_t frame;
};

void lambdas_and_classes_are_tasks() {
    bief::Chain chain(8);
    auto x = ramp(chain, 100);
    auto y = chain.add(bief::Task("gain", [factor = 2.0F](bief::In<float> x, bief::Out<float> y) {
                           for (std::size_t i = 0; i < x.size(); ++i)
                               y[i] = factor * x[i];
                       }).replicable(),
                       x);
    double sum = 0;
    chain.add("sum", [&sum](bief::In<float> y) {
        for (float v : y)
            sum += v;
    }, y);
    std::string report = chain.run();
    CHECK(sum == 2 * 4 * 99 * 100 / 2);
    CHECK(report.find("\"frames\": 100") != std::string::npos);
    try {
        chain.run();
        CHECK(false);
    } catch (const bief::Error &error) {
        CHECK(error.status() == BIEF_ERROR_ARGUMENT && error.message().find("used up") != std::string::npos);
    }
}

/// Keeps and tells what it has seen.
struct Last {
    Alive alive_;
    std::vector<int> *seen;
    int *finished;
    void operator()(bief::In<float> x) { seen->push_back(static_cast<int>(x[0])); }
    void finish() { ++*finished; }
    void figures(bief::Figures figures) const {
        figures.count("seen", "frames", seen->size());
        figures.level("half", "", 0.5, 1);
    }
};

void replicas_keep_the_order_and_runs_can_be_repeated() {
    {
        std::vector<int> seen;
        int finished = 0;
        bief::Chain chain(2);
        auto x = ramp(chain, 1000);
        chain.stage("double", 3);
        chain.add(bief::Task("double", [alive = Alive()](bief::InOut<float> x) {
                      for (float &v : x)
                          v *= 2;
                  }).replicable().batches(),
                  x);
        chain.stage("out");
        chain.add("last", Last{{}, &seen, &finished}, x);
        bief::Options options;
        options.observe = true;
        options.waiting = "passive";
        bief::Pipeline pipeline = chain.pipeline(options);
        for (int run = 1; run <= 2; ++run) {
            std::string report = pipeline.run();
            CHECK(seen.size() == 1000 && finished == run && report.find("\"seen\"") != std::string::npos);
            for (int i = 0; i < 1000; ++i)
                CHECK(seen[static_cast<std::size_t>(i)] == 2 * i);
            seen.clear();
        }
        bief::Pipeline moved = std::move(pipeline);
        moved.run();
        CHECK(finished == 3);
    }
    CHECK(alive == 0);
}

void an_exception_goes_through_the_run_with_its_type_and_place() {
    for (int replicas : {1, 2}) {
        bief::Chain chain(4);
        auto x = ramp(chain, 1000);
        chain.stage("middle", static_cast<std::size_t>(replicas));
        chain.add(bief::Task("filter", [](bief::InOut<float>, bief::Call call) {
                      if (call.frame() >= 42)
                          throw Broken(call.frame());
                  }).replicable(),
                  x);
        chain.stage("out");
        int delivered = 0;
        chain.add("count", [&delivered](bief::In<float>) { ++delivered; }, x);
        bief::Pipeline pipeline = chain.pipeline();
        for (int run = 0; run < 3; ++run) {
            delivered = 0;
            try {
                pipeline.run();
                CHECK(false);
            } catch (const Broken &broken) {
                bief::Error place = bief::last_error();
                CHECK(place.task() == "filter" && place.stage() == "middle" && place.frame() == broken.frame);
                CHECK(place.status() == BIEF_ERROR_TASK && place.message() == "the filter broke");
                // Of two replicas that throw at the same time, one is told.
                CHECK(replicas == 2 ? broken.frame >= 42 && delivered <= 42 : broken.frame == 42 && delivered == 42);
                CHECK(replicas == 2 || std::string(place.what()) == "task `filter` (stage `middle`, frame 42): the filter broke");
            }
        }
    }
    // What is no std::exception, and what a task throws when a run has ended or begins.
    struct Odd {
        int when;
        void operator()(bief::In<float>) {
            if (when == 0)
                throw 7;
        }
        void finish() {
            if (when == 1)
                throw 8;
        }
        void reset() {
            if (when == 2)
                throw 9;
        }
    };
    for (int when = 0; when < 3; ++when) {
        bief::Chain chain;
        chain.add("odd", Odd{when}, ramp(chain, 3));
        bief::Pipeline pipeline = chain.pipeline();
        int thrown = 0;
        try {
            pipeline.run();
            pipeline.run();
        } catch (int number) {
            thrown = number;
        }
        CHECK(thrown == 7 + when && bief::last_error().task() == "odd");
    }
}

void lengths_are_told_and_refused() {
    bief::Chain chain;
    auto x = ramp(chain, 3);
    auto half = [](std::vector<std::size_t> in) {
        if (in[0] % 4)
            throw Broken(static_cast<std::int64_t>(in[0]));
        return std::vector<std::size_t>{in[0] / 2, 1};
    };
    auto work = [](bief::In<float> x, bief::Out<float> y, bief::Out<std::uint16_t> z) {
        CHECK(x.size() == 4 && y.size() == 2 && z.size() == 1);
        y[0] = y[1] = static_cast<float>(z[0] = 3);
    };
    auto [y, z] = chain.add(bief::Task("half", work).lens(half), x);
    try {
        chain.add(bief::Task("half", work).lens(half), y);
        CHECK(false);
    } catch (const Broken &broken) {
        CHECK(broken.frame == 2);
    }
    try {
        chain.add("wrong", [](bief::In<std::complex<double>>) {}, z);
        CHECK(false);
    } catch (const bief::Error &error) {
        CHECK(error.message() == "input 0 reads Complex<f64>, but gets u16 from task `half`" && error.task() == "wrong");
    }
    int seen = 0;
    chain.add("see", [&seen](bief::In<std::uint16_t> z) { seen += z[0]; }, z);
    chain.run();
    CHECK(seen == 9);
}

void frames_may_differ_in_length() {
    bief::Chain chain(4);
    auto words = chain.add(bief::Task("words", [n = 0](bief::OutVar<std::uint8_t> out) mutable {
                               out.resize(static_cast<std::size_t>(n % 5));
                               for (auto &byte : out)
                                   byte = 'a';
                               return n++ == 20 ? bief::Flow::Stop : bief::Flow::Next;
                           }).lens({8}));
    chain.add("twice", [](bief::InOutVar<std::uint8_t> x) {
        auto size = x.size();
        x.resize(2 * size);
        for (std::size_t i = size; i < x.size(); ++i)
            x[i] = 'b';
    }, words);
    std::size_t total = 0;
    chain.add("count", [&total](bief::InVar<std::uint8_t> x) {
        for (std::uint8_t byte : x)
            total += byte == 'a' || byte == 'b';
    }, words);
    chain.run();
    CHECK(total == 2 * 4 * (1 + 2 + 3 + 4));

    bief::Chain wide;
    wide.add(bief::Task("wide", [](bief::OutVar<float> out) { out.resize(9); }).lens({8}));
    try {
        wide.run();
        CHECK(false);
    } catch (const std::length_error &) {
        CHECK(bief::last_error().task() == "wide");
    }
}

void frames_are_skipped_and_what_cannot_be_copied_is_a_task() {
    bief::Chain chain(4);
    auto x = ramp(chain, 100);
    chain.add("odd", [](bief::In<float> x) { return static_cast<int>(x[0]) % 2 ? bief::Flow::Skip : bief::Flow::Next; }, x);
    auto count = std::make_unique<int>(0);
    int *seen = count.get();
    int most = 0;
    chain.add("count", [count = std::move(count), &most](bief::In<float>) { most = ++*count; }, x);
    (void)seen;
    chain.run();
    CHECK(most == 50);
}

void a_run_is_stopped() {
    bief::Chain chain;
    auto x = ramp(chain, -1);
    chain.stage("out");
    std::atomic<long> frames{0};
    chain.add("count", [&frames](bief::In<float>) { ++frames; }, x);
    bief::Pipeline pipeline = chain.pipeline();
    std::thread other([&frames, stopper = pipeline.stopper()] {
        while (frames == 0)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        stopper.stop();
    });
    pipeline.run();
    other.join();
    CHECK(frames > 0);
}

void applications_are_planned_and_run(const std::string &data) {
    int runs = 0, rehearsals = 0, frames = 0;
    bief::Application application([&](bief::Chain &chain, std::uint64_t rehearsal) {
        ++(rehearsal ? rehearsals : runs);
        auto x = ramp(chain, rehearsal ? static_cast<int>(std::min<std::uint64_t>(rehearsal, 1 << 20)) : 500);
        chain.add(bief::Task("think", [](bief::InOut<float> x) {
                      for (int i = 0; i < 20000; ++i)
                          x[0] = x[0] * 0.5F + x[1] * 0.5F;
                  }).replicable(),
                  x);
        int *count = rehearsal ? nullptr : &frames;
        chain.add("count", [count](bief::In<float>) {
            if (count)
                ++*count;
        }, x);
    });
    bief::Planning planning;
    planning.executions = 20;
    planning.goal = "fewest-cores";
    bief::Plan plan = application.plan(planning);
    CHECK(rehearsals == 1 && runs == 0 && plan.json().find("\"think\"") != std::string::npos);
    std::string report = application.pipeline(plan).run();
    CHECK(runs == 1 && frames == 500 && report.find("\"planned_period_ns\"") != std::string::npos);

    bief::Application broken([](bief::Chain &, std::uint64_t) { throw Broken(5); });
    try {
        broken.plan();
        CHECK(false);
    } catch (const Broken &thrown) {
        CHECK(thrown.frame == 5);
    }
    bief::Chain file = bief::Chain::read(data + "/chains/nbfm.toml");
    try {
        file.wire("no such wire");
        CHECK(false);
    } catch (const bief::Error &error) {
        CHECK(error.message().find("there is no wire `no such wire`: there are ") == 0);
    }
    CHECK(bief::machine()[0] == '{');
}

} // namespace

int main(int count, char **arguments) {
    CHECK(count == 2);
    lambdas_and_classes_are_tasks();
    replicas_keep_the_order_and_runs_can_be_repeated();
    an_exception_goes_through_the_run_with_its_type_and_place();
    lengths_are_told_and_refused();
    frames_may_differ_in_length();
    frames_are_skipped_and_what_cannot_be_copied_is_a_task();
    a_run_is_stopped();
    applications_are_planned_and_run(arguments[1]);
    CHECK(alive == 0);
    std::puts("all as the header says");
}
