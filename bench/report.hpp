/// bench/report - what was measured, as rows: printed for a person, and written as JSON for run.py.
///
///   A row's ratio is value / limit, both medians of the same interleaved rounds. Whether less or more is better follows from
///   the unit: less of ns and us, more of M/s and GB/s.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "harness.hpp"

namespace bench {

struct row {
    std::string group; // the heading it stands under
    std::string name;  // stable: run.py and later runs compare by it
    std::size_t bytes = 0;
    std::string unit;
    series taken{};
    std::string limit_name{}; // empty: none
    series limit{};           // of the same interleaved rounds

    double ratio() const { return spread_of(taken).of.median / spread_of(limit).of.median; }
};

/// Three digits that mean something.
inline std::string digits(double v) {
    int const before = v > 0 ? static_cast<int>(std::floor(std::log10(v))) : 0;
    return fmt::format("{:.{}f}", v, std::clamp(2 - before, 0, 4));
}

inline std::string size_name(std::size_t n) {
    if (n >= (1u << 20) && n % (1u << 20) == 0) return fmt::format("{} MB", n >> 20);
    if (n >= (1u << 10) && n % (1u << 10) == 0) return fmt::format("{} KB", n >> 10);
    return fmt::format("{} B", n);
}

class report {
    std::string program_;
    std::vector<row> rows_;
    std::vector<std::string> skipped_;

    static std::string quoted(std::string_view s) {
        std::string out = "\"";
        for (char ch : s) {
            if (ch == '"' || ch == '\\') out += '\\';
            out += static_cast<unsigned char>(ch) < 0x20 ? ' ' : ch;
        }
        return out + '"';
    }
    static std::string number(double v) { return std::isfinite(v) ? fmt::format("{:.6g}", v) : "null"; }

    static std::string json_of(row const& r) {
        spread const is = spread_of(r.taken);
        bool const limited = !r.limit.empty();
        std::string const limit = limited ? number(spread_of(r.limit).of.median) : "null";
        std::string const ratio = limited ? number(r.ratio()) : "null";
        return fmt::format(
            R"({{"group": {}, "name": {}, "bytes": {}, "value": {}, "unit": {}, "q1": {}, "q3": {}, "limit": {}, )"
            R"("limit_name": {}, "ratio": {}, "kept": {}, "taken": {}, "calm": {}}})",
            quoted(r.group), quoted(r.name), r.bytes, number(is.of.median), quoted(r.unit), number(is.of.q1), number(is.of.q3),
            limit, limited ? quoted(r.limit_name) : "null", ratio, is.kept, is.taken, is.calm);
    }

    static double slow_share(calibration const& c) {
        if (c.all().empty()) return 0;
        auto const slow = std::count_if(c.all().begin(), c.all().end(), [&](double x) { return c.slow(x); });
        return static_cast<double>(slow) / static_cast<double>(c.all().size());
    }

    /// "1.52 us (1.45 .. 1.63)", with a ~ where the machine was slow all the time.
    static std::string figure(row const& r) {
        spread const is = spread_of(r.taken);
        return fmt::format("{}{:>6} {:<4} ({} .. {})", is.calm ? "" : "~", digits(is.of.median), r.unit, digits(is.of.q1),
                           digits(is.of.q3));
    }
    static std::string ratio(row const& r) {
        return r.limit.empty() ? "" : fmt::format("{:.2f} x {}", r.ratio(), r.limit_name);
    }

    /// One name at several sizes: a table reads better than a list.
    static bool has_sizes(std::vector<row const*> const& rows) {
        return std::any_of(rows.begin(), rows.end(),
                           [&](row const* r) { return r->name == rows.front()->name && r->bytes != rows.front()->bytes; });
    }
    static void print_list(std::FILE* to, std::vector<row const*> const& rows) {
        for (row const* r : rows) {
            std::string const line = fmt::format("  {:<46}{:<32}{}", r->name, figure(*r), ratio(*r));
            fmt::print(to, "{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
        }
    }
    static void print_table(std::FILE* to, std::vector<row const*> const& rows) {
        std::vector<std::string> names;
        std::vector<std::size_t> sizes;
        for (row const* r : rows) {
            if (std::find(names.begin(), names.end(), r->name) == names.end()) names.push_back(r->name);
            if (std::find(sizes.begin(), sizes.end(), r->bytes) == sizes.end()) sizes.push_back(r->bytes);
        }
        std::string line = fmt::format("{:>10}", "");
        for (auto const& n : names) line += fmt::format("  {:<54}", n);
        fmt::print(to, "{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
        for (std::size_t size : sizes) {
            line = fmt::format("{:>10}", size_name(size));
            for (auto const& n : names) {
                auto const at =
                    std::find_if(rows.begin(), rows.end(), [&](row const* r) { return r->name == n && r->bytes == size; });
                line +=
                    at == rows.end() ? fmt::format("  {:<54}", "-") : fmt::format("  {:<32}{:<22}", figure(**at), ratio(**at));
            }
            fmt::print(to, "{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
        }
    }
    void print_conditions(std::FILE* to) const {
        for (auto const& s : skipped_) fmt::print(to, "\n  not measured: {}\n", s);
        auto const& c = calibrations_of_this_run();
        if (!c.all().empty())
            fmt::print(to,
                       "\n  two cache lines, one way, all through the run: calm {} ns, median {} ns; {:.0f} % of it in slow "
                       "spells, dropped\n",
                       digits(c.calm()), digits(quartiles_of(c.all()).median), 100 * slow_share(c));
        if (std::any_of(rows_.begin(), rows_.end(), [](row const& r) { return !spread_of(r.taken).calm; }))
            fmt::print(to, "  ~ taken in a slow spell: too few calm rounds, so all of them count\n");
    }

public:
    explicit report(std::string program) : program_{std::move(program)} {}

    void add(row r) { rows_.push_back(std::move(r)); }
    /// What could not be measured here, and why.
    void skip(std::string why) { skipped_.push_back(std::move(why)); }
    std::vector<row> const& rows() const noexcept { return rows_; }

    /// For a person: a heading per group; where a group has several sizes, a table with a line per size and a column per name.
    void print(std::FILE* to = stdout) const {
        std::vector<std::string> groups;
        for (auto const& r : rows_)
            if (std::find(groups.begin(), groups.end(), r.group) == groups.end()) groups.push_back(r.group);
        for (auto const& g : groups) {
            std::vector<row const*> of;
            for (auto const& r : rows_)
                if (r.group == g) of.push_back(&r);
            fmt::print(to, "\n{}\n", g);
            if (has_sizes(of)) print_table(to, of);
            else print_list(to, of);
        }
        print_conditions(to);
    }

    void write_json(std::string const& path) const {
        auto const& c = calibrations_of_this_run();
        auto const q = quartiles_of(c.all());
        std::string out = fmt::format("{{\"program\": {},\n", quoted(program_));
        out += fmt::format(" \"calibration\": {{\"unit\": \"ns\", \"calm\": {}, \"q1\": {}, \"median\": {}, \"q3\": {}, "
                           "\"slow_share\": {}}},\n",
                           number(c.calm()), number(q.q1), number(q.median), number(q.q3), number(slow_share(c)));
        out += " \"skipped\": [";
        for (std::size_t i = 0; i < skipped_.size(); ++i) out += (i > 0 ? ", " : "") + quoted(skipped_[i]);
        out += "],\n \"rows\": [\n";
        for (std::size_t i = 0; i < rows_.size(); ++i) out += "  " + json_of(rows_[i]) + (i + 1 < rows_.size() ? ",\n" : "\n");
        std::ofstream file{path};
        file << out << " ]}\n";
        if (!file.flush()) throw std::runtime_error{"bench: cannot write " + path};
    }
};

} // namespace bench
