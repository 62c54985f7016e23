// The chain of first.c in C++, and what becomes of an exception.

#include "bief.hpp"

#include <iostream>

int main() {
    double total = 0;
    bief::Chain chain;
    auto x = chain.add(bief::Task("numbers", [next = 0](bief::Out<float> out) mutable {
                           for (float &number : out)
                               number = static_cast<float>(next++);
                           return next > 6400 ? bief::Flow::Stop : bief::Flow::Next;
                       }).lens({64}));
    chain.stage("squares", 2);
    auto y = chain.add(bief::Task("square", [](bief::In<float> x, bief::Out<float> y) {
                           for (std::size_t i = 0; i < x.size(); ++i)
                               y[i] = x[i] * x[i];
                       }).replicable(), // it remembers nothing from frame to frame
                       x);
    chain.stage("out");
    chain.add("add up", [&total](bief::In<float> y) {
        for (float square : y)
            total += square;
        if (total > 1e10)
            throw std::overflow_error("that is enough");
    }, y);
    try {
        chain.run();
    } catch (const std::overflow_error &) {
        std::cout << bief::last_error().what() << '\n'; // task `add up` (stage `out`, frame 48): that is enough
        return 0;
    }
    return 1;
}
