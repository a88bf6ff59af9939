// A thread sleeps and looks for ever: it never comes to an end, and never stands still either.
//@ flags: -pthread -g
#include <unistd.h>

int main(void) {
    for (;;) sleep(1);
}
