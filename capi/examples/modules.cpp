// Modules as StreamPU has them, classes with `process(in, out)`, wrapped once and for all.

#include "bief.hpp"

#include <cmath>
#include <iostream>

// --- what is there already: modules that know their sizes and how to clone themselves ------------------------------------

template <class I, class O> class Module {
public:
    Module(int inputs, int outputs) : inputs(inputs), outputs(outputs) {}
    virtual ~Module() = default;
    virtual void process(const I *in, O *out) = 0;
    virtual Module *clone() const { return nullptr; } // nullptr: it remembers something from frame to frame
    const int inputs, outputs;
};

class Modulator : public Module<std::uint8_t, float> {
public:
    explicit Modulator(int bits) : Module(bits, bits) {}
    void process(const std::uint8_t *in, float *out) override {
        for (int i = 0; i < inputs; ++i)
            out[i] = in[i] ? -1.0F : 1.0F;
    }
    Modulator *clone() const override { return new Modulator(*this); }
};

class Energy : public Module<float, double> {
public:
    explicit Energy(int samples) : Module(samples, 1) {}
    void process(const float *in, double *out) override {
        for (int i = 0; i < inputs; ++i)
            sum += std::pow(in[i], 2);
        out[0] = sum;
    }
    double sum = 0;
};

// --- the wrapper ---------------------------------------------------------------------------------------------------------

template <class I, class O> struct Wrapped {
    std::unique_ptr<Module<I, O>> module;
    explicit Wrapped(Module<I, O> *module) : module(module) {}
    Wrapped(Wrapped &&) = default;
    Wrapped(const Wrapped &other) : module(other.module->clone()) {}
    void operator()(bief::In<I> in, bief::Out<O> out) { module->process(in.data(), out.data()); }
};

template <class I, class O> bief::Wire add(bief::Chain &chain, const std::string &name, Module<I, O> *module, bief::Wire in) {
    auto len = static_cast<std::size_t>(module->outputs);
    bool is_stateless = std::unique_ptr<Module<I, O>>(module->clone()) != nullptr;
    auto task = bief::Task(name, Wrapped<I, O>(module)).lens({len});
    return is_stateless ? chain.add(std::move(task).replicable(), in) : chain.add(std::move(task), in);
}

// --- a chain of them -----------------------------------------------------------------------------------------------------

int main() {
    bief::Chain chain(16);
    auto bits = chain.add(bief::Task("bits", [frame = 0](bief::Out<std::uint8_t> out) mutable {
                              for (std::size_t i = 0; i < out.size(); ++i)
                                  out[i] = (i ^ static_cast<std::size_t>(frame)) & 1;
                              return frame++ == 1000 ? bief::Flow::Stop : bief::Flow::Next;
                          }).lens({1024}));
    chain.stage("modulate", 2);
    auto symbols = add(chain, "modulator", static_cast<Module<std::uint8_t, float> *>(new Modulator(1024)), bits);
    chain.stage("measure");
    auto energy = add(chain, "energy", static_cast<Module<float, double> *>(new Energy(1024)), symbols);
    double last = 0;
    chain.add("last", [&last](bief::In<double> energy) { last = energy[0]; }, energy);
    chain.run();
    std::cout << "energy " << last << '\n';
    return last == 1000.0 * 1024.0 ? 0 : 1;
}
