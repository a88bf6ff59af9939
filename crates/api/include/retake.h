/* The retake library for C: named participants, messages, shared objects; see docs/library.md.
 *
 * A program that uses it can be captured and run again, the same, without being rebuilt:
 *     retake record [--full | --checkpoint-every N] -- CMD      retake replay [--only NAME]
 *
 * Link with -lretake (shared) or libretake.a -lpthread -ldl -lm (static). A participant belongs to one thread at a time.
 *
 * Time-outs are in milliseconds: negative waits for ever, 0 does not wait. Functions that return a number return less than
 * 0 when they fail: one of enum retake_error. retake_last_error() then says why, in words.
 */
#ifndef RETAKE_H
#define RETAKE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The longest message. */
#define RETAKE_MESSAGE_MAX (64u << 20)

enum retake_error {
    RETAKE_BAD_NAME = -1,   /* no name for a participant or object */
    RETAKE_NAME_TAKEN = -2, /* somebody of the group has that name */
    RETAKE_NOT_THERE = -3,  /* nobody of that name is there */
    RETAKE_GONE = -4,       /* the partner has finished or died */
    RETAKE_GAP = -5,        /* a message was lost on the way */
    RETAKE_NOT_A_CALL = -6, /* a reply to something that waits for none */
    RETAKE_TOO_LONG = -7,   /* longer than RETAKE_MESSAGE_MAX */
    RETAKE_FORKED = -8,     /* the participant is the parent process's */
    RETAKE_TAPE = -9,       /* the take cannot be written or read */
    RETAKE_SETTING = -10,   /* a variable of the environment makes no sense */
    RETAKE_SYSTEM = -11,    /* the system refused */
    RETAKE_MISUSE = -12,    /* a null pointer, or a guard that is not held */
    RETAKE_TRANSPORT = -13  /* what carries messages failed: another secret, a server that is gone */
};

enum retake_mode {
    RETAKE_NORMAL,
    RETAKE_CAPTURE,
    RETAKE_FULL_CAPTURE,
    RETAKE_REPLAY,
    RETAKE_REPLAY_ONE,
    RETAKE_CHECKPOINT /* every 1000 events; see retake_set_checkpoints */
};

typedef struct retake_participant retake_participant;
typedef struct retake_object retake_object;
typedef struct retake_writer retake_writer;

/* A message that was received. Give it back with retake_message_free. */
typedef struct retake_message {
    int64_t partner;         /* who sent it; good for sending back */
    uint64_t id;             /* its number among all that its sender has sent */
    int expects_reply;       /* whether the sender waits for a reply */
    const char *name;        /* the sender's name; empty in a reply */
    const char *host;        /* the host that the sender runs on; empty in a reply */
    const uint8_t *contents; /* followed by a zero byte that does not count */
    size_t length;
    void *owner;
} retake_message;

/* Why the last call of this thread failed, in words. */
const char *retake_last_error(void);

/* Chooses the mode, and the take's directory, for participants made from now on. retake record and replay have the last
 * word. 0, or less than 0. */
int retake_set_mode(enum retake_mode mode, const char *take);

/* Chooses what carries messages, in the words of RETAKE_TRANSPORT ("unix", "tcp:NAME=HOST:PORT,..."), and the secret
 * that all of a group share (null: none), for participants made from now on. The variable goes before this call. 0, or
 * less than 0. */
int retake_set_transport(const char *words, const void *secret, size_t length);

/* Chooses the mode RETAKE_CHECKPOINT, with so many events between two checkpoints, 1 or more. 0, or less than 0. */
int retake_set_checkpoints(unsigned every, const char *take);

/* Makes the calling thread a participant of this name; null if that fails. */
retake_participant *retake_init(const char *name);

/* Sends what is still to be sent, and leaves. The participant is no more. */
void retake_finish(retake_participant *me);

/* The partner of this name, 0 or more, waited for so long. */
int64_t retake_find_partner(retake_participant *me, const char *name, int timeout_ms);

/* Sends and does not wait. The message's id, 1 or more. */
int64_t retake_send(retake_participant *me, int64_t partner, const void *contents, size_t length);

/* Sends and waits for the reply. 1: it is in *reply. 0: the time was over. */
int retake_call(retake_participant *me, int64_t partner, const void *contents, size_t length, int timeout_ms,
                retake_message *reply);

/* Replies to the message of that id from that partner. 0. */
int retake_reply(retake_participant *me, int64_t partner, uint64_t id, const void *contents, size_t length);

/* Receives the next message from whomever. 1: it is in *message. 0: the time was over. */
int retake_receive(retake_participant *me, int timeout_ms, retake_message *message);

/* The same, from that partner only. */
int retake_receive_from(retake_participant *me, int64_t partner, int timeout_ms, retake_message *message);

void retake_message_free(retake_message *message);

/* Data that the participants of one process share: concurrent readers, exclusive writers. The name must be the only one
 * in its process; `data` stays the caller's, and is touched between entry and exit only. Null if that fails. */
retake_object *retake_object_init(const char *name, void *data, size_t size);
void retake_object_free(retake_object *object);

/* 0, or less than 0. An exit must follow in the same thread. */
int retake_read_entry(retake_participant *me, retake_object *object);
int retake_read_exit(retake_participant *me, retake_object *object);
int retake_write_entry(retake_participant *me, retake_object *object);
int retake_write_exit(retake_participant *me, retake_object *object);

/* Output of several participants to one descriptor, put in order: all writers of one name, in all processes of a recorded
 * run, share one order, which a replay repeats. Null if that fails; 0, or less than 0. */
retake_writer *retake_writer_init(const char *name, int descriptor);
void retake_writer_free(retake_writer *writer);
int retake_write(retake_participant *me, retake_writer *writer, const void *contents, size_t length);

/* Values from outside that are on the tape: nanoseconds since 1970; random bytes. */
int64_t retake_time_ns(retake_participant *me);
int retake_random(retake_participant *me, void *to, size_t length);

#ifdef __cplusplus
}
#endif

#endif
