/// bench/settings - what the programs of this directory can be told, and how many rounds follow from it.
#pragma once
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <boost/program_options.hpp>

#include "harness.hpp"

namespace bench {

struct settings {
    bool quick = false;
    std::size_t largest = 64u << 20; // largest message, bytes
    std::string json;                // file the rows go to; empty: none
    double calm = 0;                 // two-line ping-pong, ns, that this machine is known to reach; 0: unknown
    std::string stack = "standard";  // which stack, where a program has several

    /// For batches of n bytes. Large ones take long, and fewer of them say as much.
    plan rounds(std::size_t n = 0) const {
        int const wanted = quick ? 5 : n >= (16u << 20) ? 5 : n >= (4u << 20) ? 10 : 30;
        return {wanted, 3 * wanted, 100};
    }
    /// Where nothing crosses cores.
    plan uncalibrated() const { return {rounds().rounds, rounds().rounds, 0}; }

    /// The message sizes of every table, from `least` to `largest`.
    std::vector<std::size_t> sizes(std::size_t least) const {
        std::vector<std::size_t> all;
        for (std::size_t n :
             {1, 8, 64, 512, 1 << 10, 4 << 10, 8 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20})
            if (n >= least && n <= largest) all.push_back(n);
        return all;
    }

    /// Prints the help and leaves the program when asked to; throws when it cannot read a word.
    static settings parse(std::string const& program, std::string const& what, int argc, char** argv) {
        namespace po = boost::program_options;
        settings s;
        po::options_description o{program + ": " + what};
        auto add = o.add_options();
        add("help", "this text");
        add("quick", po::bool_switch(&s.quick), "few rounds and sizes up to 1 MB: a smoke test");
        add("json", po::value(&s.json), "write the rows to this file, too");
        add("largest", po::value(&s.largest), "largest message in bytes (default 64 MB)");
        add("calm", po::value(&s.calm),
            "two-line ping-pong in ns that this machine is known to reach: slower rounds do not count");
        add("stack", po::value(&s.stack), "the stack to measure (default: standard)");
        po::variables_map given;
        po::store(po::parse_command_line(argc, argv, o), given);
        po::notify(given);
        if (given.count("help") > 0) std::cout << o << '\n', std::exit(0);
        calibrations_of_this_run().know(s.calm);
        if (s.quick && given.count("largest") == 0) s.largest = 1u << 20;
        return s;
    }
};

} // namespace bench
