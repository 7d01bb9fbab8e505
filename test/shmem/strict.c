/* The header by the oldest standards, with a compiler that takes nothing else. */
#include <pshmem.h>
#include <string.h>

#define TEXT(x) TEXT_OF(x)
#define TEXT_OF(x) #x

int main(void) {
    long sum = 0, mine = 1;
    shmem_init();
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &mine, 0);
    shmem_finalize();
    return strcmp(TEXT(SHMEM_COLOR_UNDEFINED), "(-1)") != 0; /* so that it is one word in any expression */
}
