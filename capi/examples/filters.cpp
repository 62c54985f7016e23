// A filter of liquid-dsp and a kernel of VOLK as tasks of a chain, which is measured, planned and run on replicas.
//
// Debian: apt-get install libliquid-dev libvolk2-dev;  c++ -std=c++17 filters.cpp $(pkg-config --cflags --libs bief volk) -lliquid

#include "bief.hpp"

#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>

#include <volk/volk.h>
// After <complex>: liquid's complex numbers are those of C++ then.
#include <liquid/liquid.h>

using Samples = std::complex<float>;
constexpr std::size_t FRAME = 4096;
constexpr int FRAMES = 400;

/// Two tones, one in the filter's passband and one outside of it.
class Tones {
public:
    explicit Tones(int frames) : left_(frames) {
        for (std::size_t at = 0; at < period_.size(); ++at)
            for (float frequency : {0.01F, 0.4F})
                period_[at] += std::polar(1.0F, 2 * 3.14159265F * frequency * static_cast<float>(at));
    }
    bief::Flow operator()(bief::Out<Samples> out) {
        for (Samples &sample : out)
            sample = period_[next_++ % period_.size()];
        return left_-- == 0 ? bief::Flow::Stop : bief::Flow::Next;
    }

private:
    std::array<Samples, 100> period_{};
    std::uint64_t next_ = 0;
    int left_;
};

/// liquid's filter remembers the last samples: it is never replicated.
class LowPass {
public:
    LowPass() : filter_(firfilt_crcf_create_kaiser(33, 0.1F, 60.0F, 0.0F), firfilt_crcf_destroy) {
        firfilt_crcf_set_scale(filter_.get(), 0.2F);
    }
    void operator()(bief::In<Samples> in, bief::Out<Samples> out) {
        firfilt_crcf_execute_block(filter_.get(), const_cast<Samples *>(in.data()), static_cast<unsigned>(in.size()), out.data());
    }

private:
    std::unique_ptr<std::remove_pointer_t<firfilt_crcf>, int (*)(firfilt_crcf)> filter_;
};

/// Level and phase by kernels of VOLK: they remember nothing, copies may work side by side, on frames as they lie.
void polar(bief::In<Samples> in, bief::Out<float> power, bief::Out<float> phase) {
    volk_32fc_magnitude_squared_32f(power.data(), in.data(), static_cast<unsigned>(in.size()));
    volk_32fc_s32f_atan2_32f(phase.data(), in.data(), 1.0F, static_cast<unsigned>(in.size()));
}

struct Result {
    double power = 0;
    long frames = 0;
};

/// The same chain for the run that counts, and for rehearsals, which keep nothing.
void build(bief::Chain &chain, std::uint64_t rehearsal, Result *result) {
    chain.batch(4);
    auto x = chain.add(bief::Task("tones", Tones(rehearsal ? 1 << 30 : FRAMES)).lens({FRAME}));
    auto y = chain.add("low pass (liquid)", LowPass(), x);
    auto [power, phase] = chain.add(bief::Task("polar (VOLK)", polar).replicable().batches(), y);
    chain.add("mean", [result](bief::In<float> power, bief::In<float>) {
        if (result) {
            result->power += power[power.size() / 2];
            ++result->frames;
        }
    }, power, phase);
}

bool shows(const char *how, const Result &result) {
    double mean = result.power / static_cast<double>(result.frames);
    std::printf("%s: %ld frames, mean power %.4f\n", how, result.frames, mean);
    return result.frames == FRAMES && std::fabs(mean - 1.0) < 0.02;
}

int main() {
    // Measured here, planned for this machine, run.
    Result planned;
    bief::Application application([&](bief::Chain &chain, std::uint64_t rehearsal) {
        build(chain, rehearsal, rehearsal ? nullptr : &planned);
    });
    bief::Planning planning;
    planning.executions = 50;
    application.pipeline(application.plan(planning)).run();
    if (!shows("planned for this machine", planned))
        return 1;

    // Planned for four cores, from a profile that was measured elsewhere: VOLK's kernels get several of them.
    planning = bief::Planning{};
    planning.cores = "4";
    planning.profile = R"json({"format": 1, "kinds": ["cpu"], "frames_per_execution": 4, "tasks": [
        {"name": "tones", "replicable": false, "ns": [15000]}, {"name": "low pass (liquid)", "replicable": false, "ns": [60000]},
        {"name": "polar (VOLK)", "replicable": true, "ns": [180000]}, {"name": "mean", "replicable": false, "ns": [100]}]})json";
    bief::Options options;
    options.schedule = bief::plan(planning);
    Result elsewhere;
    bief::Chain chain;
    build(chain, 0, &elsewhere);
    std::string report = chain.pipeline(options).run();
    bool is_replicated = report.find("\"threads\": 2") != std::string::npos || report.find("\"threads\": 3") != std::string::npos;
    std::printf("%s", is_replicated ? "replicated, and " : "");
    return shows("planned for four cores", elsewhere) && is_replicated && elsewhere.power == planned.power ? 0 : 1;
}
