/* Failover policies: who may claim a shard whose leader is gone, for exhaustive search by SPIN.
 *
 * Node N leads one shard, in one session after another, from a state directory that may be emptied. Node O claims it if
 * the group's settings allow that. An operator changes the settings and force-releases. README.md says what is left out
 * and why.
 *
 *   -DD=2               the delay of `after`, in ticks
 *   -DLAGS              O's watch may fall behind
 *   -DNO_DELAY          only `immediate` and `never`, and no time
 *   -DONLY_AFTER        the setting is always `after`, and nothing is force-released
 *   -DMISTAKES          the config may be deleted by mistake; then a member puts it back
 *   -DFEW               no `immediate`, resignations, hand-overs and force-releases
 *   -DLIVENESS          under `never`, N leads again when it is back with the directory in which it led
 *   -DIDLE              with LIVENESS: under `after`, O leads in the end if N is back and takes nothing
 *   -DWITHOUT_<rule>    one rule is missing: a counterexample is expected
 *
 * A step is one d_step: what one process does upon one message, or etcd's commit of one transaction, or a tick.
 */
#ifndef D
#define D 2
#endif

/* -DREACH: pan says which steps were taken; its own account leaves out what is inside a d_step. */
#ifdef REACH
c_decl {
  static void Reached(const char *step) {
    static const char *seen[64];
    int i = 0;
    while (i < 64 && seen[i] && seen[i] != step) i++;
    if (i < 64 && !seen[i]) { seen[i] = step; printf("reached %s\n", step); }
  }
};
#define REACHED(step) c_code { Reached(step); }
#else
#define REACHED(step) skip
#endif

/* ---- etcd -------------------------------------------------------------------------------------- */

#define IMMEDIATE 0
#define AFTER 1
#define NEVER 2
#if defined(ONLY_AFTER) || defined(FEW)
#define AT_FIRST AFTER
#else
#define AT_FIRST IMMEDIATE
#endif
byte policy = AT_FIRST;

#ifdef MISTAKES
bit gone; /* the config; what it said is `policy` */
#define GONE gone
#else
#define GONE false
#endif

bit present = 1; /* N's member key is there */

byte record;
#define N_LEADS 0
#define N_STOPPED 1 /* N resigned because it shut down */
#define NOBODY 2    /* resigned for another reason, or force-released */
#define O_LEADS 3
bit same = 1;             /* the record names N's present session */
byte record_directory = 1;
#define OWNED (record == N_LEADS || record == N_STOPPED)
#define IN_FORCE (record == O_LEADS || (record == N_LEADS && same))

#ifdef WITHOUT_FORCE_TERM
bit force_lives; /* the session that the operator saw */
#endif
bit mark; /* ripe/N says that N's delay is over, for terms as new as the record's */

/* ---- node N ------------------------------------------------------------------------------------ */

byte directory = 1; /* its random id; 0: N has none */
bit stopping;
byte n_knows = AT_FIRST; /* the policy, as it read it */
bit n_outdated;          /* there was a change since */

/* ---- node O ------------------------------------------------------------------------------------ */

byte o_knows = AT_FIRST;
bit o_outdated;
bit o_sees = 1; /* N's member key, as O knows it */
bit o_counts;   /* O counts how long N has been away */
byte o_away;    /* ticks */
byte o_stay;    /* ticks that N has been back */
bit o_learnt;   /* it knows that nobody leads by the present record */
byte o_vacant;  /* ticks since it learnt that */
#ifdef LAGS
bit behind;     /* O's watch */
byte unsure;    /* ticks since it was last known to be current */
bit missed;     /* N came or went since */
bit o_record_old;
#define BEHIND behind
#define RECORD_OLD o_record_old
#else
#define BEHIND false
#define RECORD_OLD false
#endif

/* ---- on their way: what was sent may land later, or never ---------------------------------------- */

/* All but the mark compare the record's mod revision: when the record changes, they never land. */
bit n_claim, n_claim_config; /* the config is as the claimer read it */
bit o_claim, o_claim_config;
byte give; /* N's resignation */
#define STOP 1
#define GIVE_AWAY 2
bit mark_sent, mark_covers; /* its `up_to` covers the record's term */
bit force_sent, force_same; /* the record is the one that the operator saw; copies stay on their way */

/* ---- what really happened ----------------------------------------------------------------------- */

bit counts; /* as O's */
byte away;
byte stay;
byte vacant; /* ticks for which nobody has led by the present record */
bit ripe;    /* while nobody led by the present record, that or N's absence reached D */
byte led_in = 1; /* the directory in which N led last */
bit calm;
#ifdef LIVENESS
#define FAULTS (!calm)
#else
#define FAULTS true
#endif

/* ---- rules ------------------------------------------------------------------------------------- */

#ifdef WITHOUT_CONFIG
#define N_CONFIG true
#define O_CONFIG true
#else
#define N_CONFIG n_claim_config
#define O_CONFIG o_claim_config
#endif
#ifdef WITHOUT_DIRECTORY
#define SAME_DIRECTORY true
#else
#ifdef WITHOUT_NO_DIRECTORY
#define SAME_DIRECTORY (record_directory == directory)
#else
#define SAME_DIRECTORY (record_directory == directory && directory != 0)
#endif
#endif
#ifdef WITHOUT_STOPPED_OWNER
#define HAS_OWNER (record == N_LEADS)
#else
#define HAS_OWNER OWNED
#endif
#ifdef WITHOUT_FORCE_TERM
/* Names the node only, and a session that is dead since. */
#define FORCE_TERM OWNED
#define FORCE_DEAD (!force_lives)
#else
#define FORCE_TERM (OWNED && force_same)
#ifdef WITHOUT_FORCE_DEAD
#define FORCE_DEAD true
#else
#define FORCE_DEAD (!same)
#endif
#endif
#ifdef WITHOUT_RETURN_RESETS
#define RESETS(ticks) false
#else
#define RESETS(ticks) ((ticks) >= D)
#endif
/* How long a return that O learnt late may have been. */
#ifdef WITHOUT_PROVEN_STAY
#define LATE_STAY 0
#else
#define LATE_STAY unsure
#endif
#ifdef WITHOUT_SEEN
#define SEEN true
#else
#define SEEN (!RECORD_OLD)
#endif
#ifdef WITHOUT_DELAY
#define IS_AWAY (!o_sees)
#else
#ifdef WITHOUT_AWAY
#define IS_AWAY (o_away >= D)
#else
#define IS_AWAY (!o_sees && o_away >= D)
#endif
#endif
/* N has been back for D, and has not taken back in that time what it led. */
#ifdef WITHOUT_IDLE_OWNER
#define IS_IDLE false
#else
#ifdef WITHOUT_IDLE_WAIT
#define IS_IDLE (o_sees && o_stay >= D && o_learnt)
#else
#define IS_IDLE (o_sees && o_stay >= D && o_vacant >= D)
#endif
#endif
#define O_RIPE (IS_AWAY || IS_IDLE)

#define N_MAY (record == NOBODY || (OWNED && (n_knows != NEVER || SAME_DIRECTORY)))
#define O_MAY (!HAS_OWNER || o_knows == IMMEDIATE || (o_knows == AFTER && (O_RIPE || mark)))

/* ---- after each step --------------------------------------------------------------------------- */

inline put_record(what, names_present, in_directory) {
  record = what; same = names_present; record_directory = in_directory;
  n_claim = 0; n_claim_config = 0; o_claim = 0; o_claim_config = 0; give = 0;
  force_same = 0; mark_covers = 0; vacant = 0; ripe = 0; o_learnt = 0; o_vacant = 0;
#ifndef WITHOUT_UP_TO
  mark = 0; /* a mark says nothing of later terms */
#endif
#ifdef LAGS
  o_record_old = behind;
#endif
}

inline done() {
  if
  :: OWNED && !IN_FORCE ->
     ripe = (away >= D || vacant >= D -> 1 : ripe);
     o_learnt = (BEHIND -> o_learnt : 1)
  :: else
  fi
}

inline n_begins(in_directory) {
  present = 1; directory = in_directory; stay = 0;
#ifdef LAGS
  if :: behind -> missed = 1 :: else -> o_sees = 1; o_stay = 0 fi
#else
  o_sees = 1; o_stay = 0
#endif
}
inline n_ends() {
#ifdef WITHOUT_FORCE_TERM
  force_lives = 0;
#endif
  present = 0; same = 0; stopping = 0; n_claim = 0; n_claim_config = 0; stay = 0;
  away = (counts -> away : 0); counts = 1;
#ifdef LAGS
  if
  :: behind -> missed = 1
  :: else -> o_sees = 0; o_stay = 0; o_away = (o_counts -> o_away : 0); o_counts = 1
  fi
#else
  o_sees = 0; o_stay = 0; o_away = (o_counts -> o_away : 0); o_counts = 1
#endif
}

/* An id that no directory had before; a number that nothing names is used again. */
inline n_begins_emptied() {
  if
  :: record_directory != 1 && led_in != 1 -> n_begins(1)
  :: else ->
     if
     :: record_directory != 2 && led_in != 2 -> n_begins(2)
     :: else -> n_begins(3)
     fi
  fi
}

active proctype N() {
end:
  do
  :: d_step { FAULTS && !present -> REACHED("N is back"); n_begins(directory); done() }
  :: d_step { FAULTS && !present -> REACHED("N is back, emptied"); n_begins_emptied(); done() }
  :: d_step { FAULTS && !present -> REACHED("N is back, without a directory"); n_begins(0); done() }
  :: d_step { FAULTS && present -> REACHED("N's session ends"); n_ends(); done() }
  :: d_step { n_outdated && !GONE ->
       REACHED("N learns the settings"); n_knows = policy; n_outdated = 0; done() }

  /* (Weak fairness is one of processes. So when all is calm, it first learns the settings.) */
#ifdef IDLE
  :: d_step { FAULTS && present && !stopping && !n_claim && OWNED && !same && N_MAY ->
#else
  :: d_step { present && !stopping && !n_claim && !(record == N_LEADS && same) && record != O_LEADS && N_MAY &&
              (FAULTS || !n_outdated) ->
#endif
       REACHED("N claims"); n_claim = 1; n_claim_config = !n_outdated; done() }
  :: d_step { n_claim && N_CONFIG ->
       REACHED("N's claim lands");
       assert(policy != NEVER || record == NOBODY || (record_directory == directory && directory != 0));
       led_in = directory;
       put_record(N_LEADS, 1, directory);
       done() }
  :: d_step { n_claim && !n_claim_config -> REACHED("N's claim refused"); n_claim = 0; done() }

#ifndef FEW
  :: d_step { FAULTS && present && record == N_LEADS && same && give == 0 ->
       REACHED("N stops"); give = STOP; stopping = 1; done() }
  :: d_step { FAULTS && present && record == N_LEADS && same && give == 0 ->
       REACHED("N gives the shard away"); give = GIVE_AWAY; done() }
  :: d_step { give == STOP ->
       REACHED("N's last resignation lands");
#ifdef WITHOUT_KEPT_DIRECTORY
       put_record(N_STOPPED, same, 0);
#else
       put_record(N_STOPPED, same, record_directory);
#endif
       done() }
  :: d_step { give == GIVE_AWAY -> REACHED("N's resignation lands"); put_record(NOBODY, 0, 0); done() }
#endif
  od
}

active proctype O() {
end:
  do
  :: d_step { o_outdated && !BEHIND && !GONE ->
       REACHED("O learns the settings"); o_knows = policy; o_outdated = 0; done() }
#ifdef WITHOUT_KNOWN_CONFIG
  /* Takes what is not there for the default, and its claims compare that it is not there. */
  :: d_step { o_outdated && !BEHIND && GONE -> o_knows = IMMEDIATE; o_outdated = 0; done() }
#endif
  :: d_step { !o_claim && record != O_LEADS && !RECORD_OLD && O_MAY && (FAULTS || !o_outdated) ->
       REACHED("O claims"); o_claim = 1; o_claim_config = !o_outdated; done() }
  /* Guards: the record's mod revision, the session that it names is dead, the config's mod revision. */
  :: d_step { o_claim && !IN_FORCE && O_CONFIG ->
       REACHED("O's claim lands");
       assert(policy != NEVER || record == NOBODY);
       assert(policy != AFTER || record == NOBODY || ripe);
       put_record(O_LEADS, 0, 0);
       done() }
  :: d_step { o_claim && (!o_claim_config || IN_FORCE) ->
       REACHED("O's claim refused"); o_claim = 0; o_claim_config = 0; done() }

#ifndef FEW
  :: d_step { FAULTS && record == O_LEADS && present && !stopping ->
       REACHED("O hands over to N");
       led_in = directory;
#ifdef WITHOUT_TARGETS_DIRECTORY
       put_record(N_LEADS, 1, 0);
#else
       put_record(N_LEADS, 1, directory);
#endif
       done() }
  :: d_step { FAULTS && record == O_LEADS -> REACHED("O resigns"); put_record(NOBODY, 0, 0); done() }
#endif

#ifndef NO_DELAY
  :: d_step { o_knows == AFTER && O_RIPE && !mark && !mark_sent ->
       REACHED("mark sent"); mark_sent = 1; mark_covers = (OWNED && SEEN); done() }
  :: d_step { mark_sent ->
       REACHED("mark lands");
#ifdef WITHOUT_UP_TO
       mark = 1;
#else
       mark = (mark || mark_covers);
#endif
       mark_sent = 0; mark_covers = 0; done() }
#endif
#ifdef LAGS
  :: d_step { FAULTS && !behind -> REACHED("O's watch falls behind"); behind = 1; unsure = 0; missed = 0; done() }
  :: d_step { behind ->
       REACHED("O's watch is current again");
       if
       :: missed ->
          if :: o_sees || LATE_STAY < D -> skip :: else -> o_away = 0; o_counts = 0 fi;
          if :: !o_counts && (o_sees || !present) -> o_away = 0; o_counts = 1 :: else fi;
          o_sees = present;
          o_stay = (present -> LATE_STAY : 0);
          if :: present && RESETS(o_stay) -> o_away = 0; o_counts = 0 :: else fi
       :: else
       fi;
       behind = 0; unsure = 0; missed = 0; o_record_old = 0;
       done() }
#endif
  od
}

inline outdate() { n_claim_config = 0; o_claim_config = 0; n_outdated = 1; o_outdated = 1 }
inline change(to) { policy = to; outdate() }

active proctype Operator() {
end:
  do
  :: false -> skip
#ifndef ONLY_AFTER
#ifndef FEW
  :: d_step { FAULTS && !GONE && policy != IMMEDIATE -> REACHED("set to immediate"); change(IMMEDIATE); done() }
#endif
#ifndef NO_DELAY
  :: d_step { FAULTS && !GONE && policy != AFTER -> REACHED("set to after"); change(AFTER); done() }
#endif
  :: d_step { FAULTS && !GONE && policy != NEVER -> REACHED("set to never"); change(NEVER); done() }
#ifdef MISTAKES
  :: d_step { FAULTS && !gone -> REACHED("config deleted"); gone = 1; outdate(); done() }
  :: d_step { gone -> REACHED("config put back"); gone = 0; outdate(); done() }
#endif
#ifndef FEW
  /* The node that it asks may not know N's newest session. */
  :: d_step { FAULTS && OWNED && !(force_sent && force_same) ->
       REACHED("force-release sent"); force_sent = 1; force_same = 1;
#ifdef WITHOUT_FORCE_TERM
       force_lives = same;
#endif
       done() }
  :: d_step { force_sent && FORCE_TERM && FORCE_DEAD ->
       REACHED("force-release lands");
       assert(OWNED && !same); /* never of a session that lives */
       assert(force_same);     /* never of another leadership than the operator saw */
       put_record(NOBODY, 0, 0);
       done() }
#endif
#endif
#ifdef LIVENESS
#ifdef IDLE
  :: d_step { !calm && policy == AFTER && OWNED && !same && present && !n_claim -> calm = 1; done() }
#else
  :: d_step { !calm && policy == NEVER && OWNED && present && !stopping && directory != 0 && directory == led_in ->
       calm = 1; done() }
#endif
#endif
  od
}

#ifndef NO_DELAY
active proctype Clock() {
end:
  do
  :: d_step { true ->
       REACHED("tick");
       if
       :: present ->
          stay = (stay < D -> stay + 1 : D);
          if :: stay >= D -> away = 0; counts = 0 :: else fi
       :: else
       fi;
       away = (counts && away < D -> away + 1 : away);
       vacant = (OWNED && !IN_FORCE && vacant < D -> vacant + 1 : vacant);
       if
       :: o_sees ->
          o_stay = (o_stay < D -> o_stay + 1 : D);
          if :: RESETS(o_stay) -> o_away = 0; o_counts = 0 :: else fi
       :: else
       fi;
       o_away = (o_counts && o_away < D -> o_away + 1 : o_away);
       o_vacant = (o_learnt && o_vacant < D -> o_vacant + 1 : o_vacant);
#ifdef LAGS
       unsure = (behind && unsure < D -> unsure + 1 : unsure);
#endif
       done() }
  od
}
#endif

#ifdef LIVENESS
#ifdef IDLE
ltl live { [] (calm -> <> (record == O_LEADS)) }
#else
ltl live { [] (calm -> <> (record != N_STOPPED && IN_FORCE)) }
#endif
#endif
