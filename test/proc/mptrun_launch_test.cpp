// What mptrun does with its options: programs, environment, streams, CPUs, a dry run, a debugger; and what it says to the
// commonest mistakes, word for word.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "../support/process.hpp"

namespace {
using namespace mpt::test;
using namespace std::chrono_literals;

std::string const mptrun = std::getenv("MPT_TEST_MPTRUN") ? std::getenv("MPT_TEST_MPTRUN") : "mptrun";
std::string const rank = std::getenv("MPT_TEST_RANK") ? std::getenv("MPT_TEST_RANK") : "proc_rank";

std::string const c = std::getenv("MPT_TEST_C_PROCESS") ? std::getenv("MPT_TEST_C_PROCESS") : "c_process";

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }
bool there(char const* program) { return std::system((std::string{"command -v "} + program + " >/dev/null").c_str()) == 0; }
std::string content(std::filesystem::path const& file) {
    std::ifstream in{file};
    return {std::istreambuf_iterator<char>{in}, {}};
}
std::string sorted(std::string_view text) {
    std::vector<std::string> lines;
    for (std::size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1))
        lines.emplace_back(text.substr(0, end + 1));
    std::ranges::sort(lines);
    std::string all;
    for (auto const& l : lines) all += l;
    return all + std::string{text};
}
std::string shell(std::string const& command) { return process{command}.wait().out; }

/// A folder of its own, gone at the end; it is %D in commands.
struct launch : testing::Test {
    std::filesystem::path folder = [] {
        std::string name = "/tmp/mpt-test-XXXXXX";
        return std::filesystem::path{::mkdtemp(name.data())};
    }();
    ~launch() override { std::filesystem::remove_all(folder); }
    void file(std::string const& name, std::string_view text, bool executable = false) const {
        std::ofstream{folder / name, std::ios::binary} << text;
        if (executable) std::filesystem::permissions(folder / name, std::filesystem::perms{0755});
    }
    std::string in(std::string text) const {
        for (std::size_t at; (at = text.find("%D")) != text.npos;) text.replace(at, 2, folder.string());
        return text;
    }
    ended mpt(std::string const& rest, std::string const& before = "") const {
        return process{in(before + mptrun + ' ' + rest)}.wait();
    }
};

TEST_F(launch, several_programs_are_one_job_each_with_its_own_variables_and_directory) {
    auto const e = mpt("-genv ALL 1 -n 1 sh -c 'echo one $ALL $X' : -n 2 -x X=5 -wdir / sh -c 'echo two $ALL $X $PWD'");
    EXPECT_EQ(sorted(e.out), "one 1\ntwo 1 5 /\ntwo 1 5 /\n");
    EXPECT_EQ(e.err, "");
    auto const f = mpt("-n 1 " + rank + " hello : -n 2 " + rank + " hello");
    EXPECT_EQ(sorted(f.out), "rank 0 of 3\nrank 1 of 3\nrank 2 of 3\n") << f.err;
    EXPECT_EQ(sorted(mpt("-n 1 " + c + " program : -n 2 " + c + " program").out), "program 0\nprogram 1\nprogram 1\n");
    file("parts", "-n 1 echo a\n# no program\n-n 2 echo 'b  c'\n");
    EXPECT_EQ(sorted(mpt("-configfile %D/parts").out), "a\nb  c\nb  c\n");
}

TEST_F(launch, ranks_inherit_what_they_are_meant_to) {
    auto const own = [&](std::string const& options) {
        return mpt(options + " env | grep -v -e MPT_ -e LD_ | sort", "A=1 B=2 ").out;
    };
    EXPECT_EQ(own("-envnone -x C=3"), "C=3\n");
    EXPECT_EQ(own("-genvlist A"), "A=1\n");
    EXPECT_EQ(own("-envlist A,NOT_THERE -x A=4 -x B"), "A=4\nB=2\n");
}

TEST_F(launch, a_prefix_goes_before_the_program_of_all_ranks_or_of_some) {
    auto const e = mpt("-n 2 --on 1 'env ONE=%r' --wrap 'env ALL=%r' sh -c 'echo $ALL $ONE x'");
    EXPECT_EQ(sorted(e.out), "0 x\n1 1 x\n") << e.err;
}

TEST_F(launch, output_goes_into_files_and_old_ones_are_emptied) {
    for (int k = 0; k < 2; ++k) EXPECT_EQ(mpt("-n 2 --out %D/a/b sh -c 'echo out; echo err >&2'").out, "");
    for (auto const* r : {"0", "1"}) {
        auto const start = (folder / "a/b/rank.").string() + r;
        EXPECT_EQ(content(start + ".out"), "out\n");
        EXPECT_EQ(content(start + ".err"), "err\n");
    }
    for (int k = 0; k < 2; ++k) mpt("-n 3 -l -outfile-pattern %D/all sh -c 'echo x; printf y'");
    EXPECT_EQ(sorted(content(folder / "all")), "[0] x\n[0] y\n[1] x\n[1] y\n[2] x\n[2] y\n");
    mpt("-n 2 --prepend-pattern '%r of all: ' -errfile-pattern '%D/e.%r' sh -c 'echo x >&2'");
    EXPECT_EQ(content(folder / "e.1"), "1 of all: x\n");
}

TEST_F(launch, needs_more_files_than_its_ranks_may_open) {
    auto const limited = "sh -c 'ulimit -Sn 128; " + mptrun + " -n 70 -l sh -c \"ulimit -n\"' | sed 's/.* //' | uniq -c";
    EXPECT_EQ(shell(limited), "     70 128\n");
}

TEST_F(launch, input_goes_to_whom_it_is_meant_for) {
    file("lines", "a\nb\n");
    for (auto const* from : {"cat %D/lines | ", "<%D/lines "}) {
        EXPECT_EQ(mpt("-n 3 -s 1 -l cat", from).out, "[1] a\n[1] b\n") << from;
        EXPECT_EQ(mpt("-n 3 --stdin none cat", from).out, "") << from;
        EXPECT_EQ(sorted(mpt("-n 2 --stdin all -l cat", from).out), "[0] a\n[0] b\n[1] a\n[1] b\n") << from;
    }
    EXPECT_EQ(mpt("-n 2 --stdin all sh -c true", "seq 100000 | ").code, 0);
    EXPECT_EQ(shell("seq 100000 | " + mptrun + " -n 3 --stdin all -l cat | wc -l"), "300000\n");
    auto const one_leaves = shell("seq 100000 | " + mptrun + " --stdin all -n 1 head -n 1 : -n 1 wc -l");
    EXPECT_EQ(sorted(one_leaves), "1\n100000\n");
}

TEST_F(launch, a_dry_run_prints_commands_that_do_the_same_and_starts_nothing) {
    auto const options = std::string{"-n 2 -x 'A=a b' -wdir %D sh -c 'echo $A $PWD >>made' : --wrap 'nice -n %r' echo x"};
    auto const e = mpt("--dry-run --bind-to none " + options);
    EXPECT_EQ(e.code, 0) << e.err;
    EXPECT_FALSE(std::filesystem::exists(folder / "made"));
    EXPECT_TRUE(has(e.out, "# ranks 0-1 of 3, not bound\n(cd ")) << e.out;
    EXPECT_TRUE(has(e.out, "# rank 2 of 3, not bound\n")) << e.out;
    file("script", e.out);
    auto const ran = shell(in("sh -e %D/script"));
    EXPECT_EQ(ran, "x\n") << e.out;
    EXPECT_EQ(content(folder / "made"), in("a b %D\n"));
    auto const first = e.out.substr(2, e.out.find('\n') - 2); // the same options in one form
    ASSERT_TRUE(first.starts_with("mptrun ")) << e.out;
    EXPECT_EQ(mpt("--dry-run " + first.substr(7)).out, e.out);
}

TEST_F(launch, ranks_run_where_bind_to_says) {
    auto const cpu = shell("taskset -cp $$ | sed 's/.*: //; s/[-,].*//' | tr -d '\\n'");
    if (cpu.empty()) GTEST_SKIP() << "no taskset";
    auto const one = "taskset -c " + cpu + ' ';
    auto const e = mpt("-n 2 --bind-to core --report-bindings grep Cpus_allowed_list /proc/self/status", one);
    EXPECT_EQ(e.err, "mptrun: ranks 0-1: CPUs " + cpu + "\n");
    EXPECT_EQ(e.out, "Cpus_allowed_list:\t" + cpu + "\nCpus_allowed_list:\t" + cpu + '\n');
    EXPECT_EQ(mpt("-n 2 --report-bindings true", one).err, "mptrun: ranks 0-1: not bound\n"); // more ranks than CPUs
    EXPECT_EQ(mpt("-n 1 --report-bindings true").err, "mptrun: rank 0: not bound\n");
    EXPECT_EQ(mpt("-n 1 --report-bindings true", one).err, "mptrun: rank 0: not bound\n");
    EXPECT_EQ(mpt("-n 4 --bind-to none --report-bindings true").err, "mptrun: ranks 0-3: not bound\n");
}

TEST_F(launch, one_rank_runs_in_the_debugger_with_our_input_and_output) {
    if (!there("gdb")) GTEST_SKIP() << "no gdb";
    auto const job = "-n 2 -x ASAN_OPTIONS=detect_leaks=0 --gdb=1 " + rank + " hello"; // no leak is looked for under a debugger
    auto const piped = mpt(job, "printf 'run\\nquit\\n' | ");
    if (has(piped.out + piped.err, "not permitted")) GTEST_SKIP() << "gdb may not trace here: " << piped.err;
    auto const terminal = process{"printf 'run\\nquit\\n' | script -qec '" + mptrun + ' ' + job + "' /dev/null"}.wait();
    for (auto const& e : {piped, terminal}) {
        EXPECT_TRUE(has(e.out, "rank 0 of 2") && has(e.out, "rank 1 of 2")) << e.out << e.err;
        EXPECT_TRUE(has(e.out, "exited normally")) << e.out << e.err;
        EXPECT_EQ(e.code, 0);
    }
}

TEST_F(launch, several_debugged_ranks_get_a_server_each) {
    auto const e = mpt("-n 3 --gdb=0,2 --gdb-port 23450 --dry-run true", "PATH=%D:$PATH ");
    if (!there("gdbserver")) { EXPECT_EQ(e.err, "mptrun: there is no program \"gdbserver\" in PATH, nor here.\n"); }
    file("gdbserver", "#!/bin/sh\nshift 2\nexec \"$@\"\n", true); // one that does not wait for a debugger
    auto const f = mpt("-n 3 --gdb=0,2 --gdb-port 23450 --dry-run true", "PATH=%D:$PATH ");
    EXPECT_TRUE(has(f.out, "gdbserver --once localhost:23452 ")) << f.out << f.err;
    auto const g = mpt("-n 3 --gdb=0,2 --gdb-port 23450 echo x", "PATH=%D:$PATH ");
    EXPECT_TRUE(g.says("mptrun: rank 2: gdb -q -ex 'target remote localhost:23452' echo\n")) << g.err;
}

struct mistake {
    char const *name, *options, *said;
    int code = 127;
};
struct mistakes : launch, testing::WithParamInterface<mistake> {};

TEST_P(mistakes, are_answered_with_one_sentence) {
    file("script", "echo x\n", true);
    file("lost", "#!/no/such/interpreter -x\n", true);
    file("empty", "", true);
    file("plain", "#!/bin/sh\n");
    auto const e = mpt(GetParam().options, "env -u MPIEXEC_TIMEOUT ");
    EXPECT_EQ(e.code, GetParam().code);
    EXPECT_EQ(e.err, in(GetParam().said) + '\n');
}
INSTANTIATE_TEST_SUITE_P(
    commonest, mistakes,
    testing::Values(
        mistake{"no_program", "-n 2",
                "mptrun: which program? Usage: mptrun [-n N] program [arguments...]; mptrun --help says more."},
        mistake{"misspelt", "-n 2 --tiemout 5 true", "mptrun: there is no option --tiemout. Did you mean --timeout?"},
        mistake{"no_number", "-n two true", "mptrun: -n wants a number of ranks from 1 to 1000000, not \"two\"."},
        mistake{"no_value", "--timeout", "mptrun: the option --timeout needs a value."},
        mistake{"bad_time", "--timeout soon true",
                "mptrun: --timeout wants a time such as 30, 30s, 500ms or 2m, not \"soon\"."},
        mistake{"bad_variable", "-x =1 true", "mptrun: -x wants NAME or NAME=value, not \"=1\"."},
        mistake{"lacking_variable", "-x NO_SUCH_NAME true",
                "mptrun: -x NO_SUCH_NAME: there is no such variable here; write -x NO_SUCH_NAME=value."},
        mistake{"other_nodes", "-n 4 -N 2 true",
                "mptrun: 4 ranks at 2 on a node need 2 nodes: this build starts ranks on one node only."},
        mistake{"no_such_rank", "-n 2 --gdb=2 true", "mptrun: --gdb names rank 2: this job has ranks 0 to 1."},
        mistake{"no_such_object", "--bind-to cpu true",
                "mptrun: --bind-to wants hwthread, core, l1, l2, l3, numa, socket or none, and :N after it for several of "
                "them, not \"cpu\"."},
        mistake{"unknown_program", "no-such-program", "mptrun: there is no program \"no-such-program\" in PATH, nor here."},
        mistake{"no_file", "./no-such-program", "mptrun: cannot run ./no-such-program: there is no such file."},
        mistake{"not_executable", "%D/plain",
                "mptrun: cannot run %D/plain: it is not executable; chmod +x %D/plain makes it so."},
        mistake{"script", "%D/script",
                "mptrun: cannot run %D/script: it is no program, and no script with a first line such as #!/bin/sh."},
        mistake{"empty", "%D/empty", "mptrun: cannot run %D/empty: it is empty."},
        mistake{"interpreter", "%D/lost",
                "mptrun: cannot run %D/lost: its first line asks for /no/such/interpreter, which is not there."},
        mistake{"no_directory", "-wdir %D/none true", "mptrun: --wdir: there is no directory %D/none."},
        mistake{"no_output", "--out %D/plain/x true",
                "mptrun: cannot write the output of rank 0 to %D/plain/x/rank.0.out: Not a directory."},
        mistake{"ignored", "--mca btl self,sm --allow-run-as-root -n 1 true",
                "mptrun: --mca btl self,sm, --allow-run-as-root mean nothing here and are ignored.", 0}),
    [](auto const& i) { return std::string{i.param.name}; });

TEST_F(launch, a_program_for_another_machine_is_called_so) {
    std::string elf(64, '\0');
    elf.replace(0, 7,
                "\x7f"
                "ELF\2\1\1");
    elf[16] = 2, elf[18] = '\x16'; // s390, which no one emulates by accident
    file("foreign", elf, true);
    auto const e = mpt("%D/foreign");
    EXPECT_EQ(e.code, 127);
    EXPECT_TRUE(e.says(": it is built for s390, and this machine is ")) << e.err;
}

TEST_F(launch, a_host_that_is_not_this_one_is_refused_by_its_name) {
    auto const e = mpt("-host faraway:2 -n 2 true");
    EXPECT_EQ(e.code, 127);
    EXPECT_TRUE(e.says("host \"faraway\" is not this one (\"") && e.says("\"): this build starts ranks on one node only.\n"))
        << e.err;
    EXPECT_EQ(mpt("-host localhost:2,$(hostname) -n 2 true").err, "");
}

} // namespace
