// Walks from the environment on to the auxiliary vector behind it, as some runtimes do: both are as they are alone.
//@ flags: -pthread
#include <elf.h>
#include <stdio.h>
#include <sys/auxv.h>
int main(int argc, char **argv, char **envp) {
    int variables = 0, known = 0, wrong = 0;
    (void)argc, (void)argv;
    while (*envp++) variables++;
    for (Elf64_auxv_t *at = (Elf64_auxv_t *)envp; at->a_type != AT_NULL; at++) {
        if (at->a_type == AT_IGNORE) continue;
        known++;
        wrong += getauxval(at->a_type) != at->a_un.a_val;
    }
    printf("%d variables, %d known, %d wrong\n", variables, known, wrong);
    return 0;
}
