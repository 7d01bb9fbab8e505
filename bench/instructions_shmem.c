/* instructions_shmem - how many instructions OpenSHMEM's calls take whose work is a few stores: from the call to the return.
 *
 *     valgrind --tool=callgrind --toggle-collect=counted_NAME instructions_shmem NAME     (tools/check_instructions.py does it)
 *
 * One PE, which is its own target: the way is the one to any PE of this machine. Counted with the library as this build compiles it,
 * and with the one of oshcc -debug. Each counted_NAME is called 1000 times, after a call by the same name that is not counted. */
#include <shmem.h>
#include <stdio.h>
#include <string.h>

enum { calls = 1000 };

static int *cells, values[2] = {1, 2}, cell;
static shmem_ctx_t context;

#define COUNTED(name, call)                                                                                                    \
    void counted_##name(void);                                                                                                 \
    __attribute__((noinline)) void counted_##name(void) { call; }                                                              \
    static void run_##name(void) {                                                                                             \
        call;                                                                                                                  \
        for (int i = 0; i < calls; ++i) counted_##name();                                                                      \
    }
COUNTED(put, shmem_int_put(cells, values, 1, 0))
COUNTED(put_nbi, shmem_int_put_nbi(cells, values, 1, 0))
COUNTED(put_pair, shmem_int_put(cells, values, 2, 0))
COUNTED(p, shmem_int_p(cells, 1, 0))
COUNTED(p_ctx, shmem_ctx_int_p(context, cells, 1, 0))
COUNTED(get, shmem_int_get(values, cells, 1, 0))
COUNTED(add, shmem_int_atomic_add(cells, 1, 0))
COUNTED(fetch_add, values[0] = shmem_int_atomic_fetch_add(cells, 1, 0))
COUNTED(put_static, shmem_int_put(&cell, values, 1, 0))
COUNTED(add_static, shmem_int_atomic_add(&cell, 1, 0))
COUNTED(fence, shmem_fence())
COUNTED(quiet, shmem_quiet())

int main(int argc, char** argv) {
    static struct {
        char const* name;
        void (*run)(void);
    } const all[] = {{"put", run_put},
                     {"put_nbi", run_put_nbi},
                     {"put_pair", run_put_pair},
                     {"p", run_p},
                     {"p_ctx", run_p_ctx},
                     {"get", run_get},
                     {"add", run_add},
                     {"fetch_add", run_fetch_add},
                     {"put_static", run_put_static},
                     {"add_static", run_add_static},
                     {"fence", run_fence},
                     {"quiet", run_quiet}};
    size_t n = 0;
    while (n < sizeof all / sizeof *all && (argc != 2 || strcmp(argv[1], all[n].name) != 0)) ++n;
    if (n == sizeof all / sizeof *all) {
        fputs("usage: instructions_shmem put | put_nbi | put_pair | p | p_ctx | get | add | fetch_add | put_static | "
              "add_static | fence | quiet\n",
              stderr);
        return 1;
    }
    shmem_init();
    cells = shmem_calloc(2, sizeof *cells);
    int const made = shmem_ctx_create(0, &context) == 0;
    if (made) all[n].run(), printf("%d calls\n", calls);
    shmem_finalize();
    return !made;
}
