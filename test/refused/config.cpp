// What the compiler refuses of the configuration, with which sentence. Read by tools/check_refused.py: the file without the marked
// lines compiles; with any one of them it does not, and the compiler says the sentence.
#include <mpt/config/config.hpp>

namespace config = mpt::config;

void use() {
    config::values v;
    static_cast<void>(v.get<"MPT_SPIN">());
    static_cast<void>(v.get<"MPT_SPNI">()); // refused: mpt::config: no such variable in the table
    v.set<"MPT_SPIN">("3");
    v.set<"MPT_LANE">("3"); // refused: mpt::config: no such variable in the table
    static_cast<void>(v.get<"MPT_STREAM">() == "tcp");
    static_cast<void>(v.get<"MPT_STREAM">() == "udp"); // refused: mpt::config: this variable does not know that word
}

namespace rows {
using config::detail::count, config::detail::word;
using enum config::scope;
constexpr auto good = count("MPT_X", 1, 1, 2, job, "help", "us");
constexpr auto low = count("MPT_X", 0, 1, 2, job, "help", "us");       // refused: outside its range
constexpr auto high = count("MPT_X", 3, 1, 2, job, "help", "us");      // refused: outside its range
constexpr auto other = word("MPT_X", "c", "a|b", job, "help", "us");   // refused: outside its range
constexpr auto kept = count("MPT_BOOT_X", 1, 1, 2, job, "help", "us"); // refused: this is no name for a variable
constexpr auto mute = count("MPT_X", 1, 1, 2, job, "", "us");          // refused: says what it does
} // namespace rows
