/* lock_delay: how long a shard stays without a leader if nothing proves that its last leader has stopped, for
 * exhaustive search by SPIN.
 *
 * Sessions of several nodes lead one shard in turn. An application whose session ended without proof acts for up to D
 * longer. Each process counts the wait on its own clock. README.md says what is left out and why.
 *
 *   -DS=4               sessions; 1 and 2 are of one node, the others of a node each
 *   -DD=2               lock_delay, in ticks
 *   -DCHANGES           an operator turns lock_delay off and on
 *   -DWITHOUT_<rule>    one rule is missing: a counterexample is expected
 *
 * A step is one d_step: what one process does upon one message, or etcd's commit of one transaction, or a tick.
 */
#ifndef S
#define S 4
#endif
#ifndef D
#define D 2
#endif

/* Sessions 1 and 2 are two processes of one node; only one of them has the node's member key. */
#define SAME_NODE(a, b) ((a) == (b) || ((a) <= 2 && (b) <= 2))
#define SIBLING(s) ((s) == 1 -> 2 : ((s) == 2 -> 1 : 0))

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

bit alive[S + 1];  /* the session's member key is there */
bit proven[S + 1]; /* `died` names it, or its member key was taken over */

byte named = 1; /* the session that leads by the record, or that gave it up */
byte record;
#define LEADER 0   /* names a leader */
#define RELEASED 1 /* resigned, and the application had released it; or given up for one that is known to have stopped */
#define RESIGNED 2 /* resigned only */
#define FORCED 3   /* an operator gave it up for a leader that is gone; names nobody */
#define IN_FORCE (record == LEADER && alive[named])

bit on = 1;     /* lock_delay is set */
byte settling;  /* ticks until its promise holds: what began before it was set has ended by then */

/* ---- applications ------------------------------------------------------------------------------ */

bit leads[S + 1];
byte tail[S + 1];  /* ticks for which the application may act after its session ended, or after it was told to stop */
byte holds[S + 1]; /* ticks for which it must not act yet (only if a rule is missing) */
#define ACTS(s) ((leads[s] && holds[s] == 0) || tail[s] > 0)

/* ---- on their way: what was sent may land later, or never ---------------------------------------- */

/* The leader's transfer or resignation. A change of the record makes its guard false, so it vanishes. */
byte give;
#define TRANSFER_LATE S + 1 /* added to the target: its release was not answered in time */
#define RESIGN_RELEASED 100
#define RESIGN_LATE 101
bit give_config; /* the config is as the giver read it */

/* Claims. They compare the record's mod revision, too. */
bit claim[S + 1];
bit claim_config[S + 1]; /* the config is as the claimer read it */
bit claim_late[S + 1];   /* it waited, or needs no wait */

/* ---- what processes know ------------------------------------------------------------------------ */

bit learnt[S + 1];  /* that the present record is in nobody's force */
byte waited[S + 1]; /* ticks since then, up to D */
bit outdated[S + 1]; /* there was another config since it read it */
/* Its process holds the lock of the state directory that the sibling's process held: that one has ended. */
bit lock_proves[S + 1];

/* ---- rules ------------------------------------------------------------------------------------- */

#ifdef WITHOUT_SESSION_PROOF
#define PROVEN (proven[named] || (SIBLING(named) != 0 && proven[SIBLING(named)]))
#else
#define PROVEN (proven[named])
#endif
#ifdef WITHOUT_RELEASED_ONLY
#define IN_ORDER (record == RELEASED || record == RESIGNED)
#else
#define IN_ORDER (record == RELEASED)
#endif
#ifdef WITHOUT_FORCED_WAITS
#define IS_FORCED (record == FORCED)
#else
#define IS_FORCED false
#endif
#ifdef WITHOUT_OWNER_WAITS
#define IS_OWNER(s) (record != FORCED && SAME_NODE(s, named))
#else
#define IS_OWNER(s) false
#endif
/* Only the process with the lock knows of this proof. */
#define LOCK_PROVES(s) (record != FORCED && named != 0 && named == SIBLING(s) && lock_proves[s])
#define EXEMPT(s) (IN_ORDER || IS_FORCED || (record != FORCED && PROVEN) || LOCK_PROVES(s))
#if defined(WITHOUT_WAIT) || defined(WITHOUT_WAIT_THEN_CLAIM)
#define HAS_WAITED(s) true
#else
#define HAS_WAITED(s) (waited[s] >= D)
#endif
/* A view that knows the record, and the members of an earlier time, takes a living session for a dead one. */
#ifdef WITHOUT_CERTAIN_MEMBERS
#define SEES_VACANCY true
#else
#define SEES_VACANCY (!IN_FORCE)
#endif
#ifdef WITHOUT_CLAIM_CONFIG
#define CLAIM_CONFIG(s) true
#else
#define CLAIM_CONFIG(s) claim_config[s]
#endif
#ifdef WITHOUT_TRANSFER_CONFIG
#define GIVE_CONFIG true
#else
#define GIVE_CONFIG (give > 2 * S + 1 || give_config)
#endif
#ifdef WITHOUT_LATE_RELEASE_VOID
#define MAY_TRANSFER_LATE true
#else
#define MAY_TRANSFER_LATE THINKS_OFF(named)
#endif
/* The config that the process knows may be of any age. */
#define THINKS_OFF(s) (!on || outdated[s])
#define MUST_WAIT(s) (!EXEMPT(s) && !IS_OWNER(s) && !HAS_WAITED(s))

/* ---- after each step --------------------------------------------------------------------------- */

#ifdef BREADTH_FIRST
#define SCRATCH byte
#else
#define SCRATCH hidden byte
#endif
SCRATCH s, i, acting;

/* At most one application acts. */
inline check() {
  i = 1; acting = 0;
  do
  :: i <= S ->
     acting = acting + (ACTS(i) -> 1 : 0);
     /* A claim whose session is gone never lands. */
     if :: !alive[i] -> claim[i] = 0; learnt[i] = 0; waited[i] = 0; outdated[i] = 0 :: else fi;
     if :: !claim[i] -> claim_config[i] = 0; claim_late[i] = 0 :: else fi;
     i++
  :: else -> break
  od;
  assert(!on || settling > 0 || acting <= 1)
}
inline done() { check(); s = 0; i = 0; acting = 0 }

/* etcd's record changes: every guard that compares its mod revision is false from now on. */
inline put_record(session_named, kind) {
  named = session_named;
  record = kind;
  give = 0; give_config = 0;
  i = 1;
  do
  :: i <= S ->
     claim[i] = 0;
#ifndef WITHOUT_WAIT_PER_RECORD
     learnt[i] = 0; waited[i] = 0;
#endif
     i++
  :: else -> break
  od
}

inline stop(x, ticks) {
  tail[x] = (leads[x] && holds[x] == 0 -> ticks : tail[x]);
  leads[x] = 0; holds[x] = 0
}
/* An application that released before has nothing left to do. */
inline die(x) { stop(x, D); alive[x] = 0 }
inline die_proven(x) { stop(x, 0); tail[x] = 0; alive[x] = 0; proven[x] = 1 }
/* What a lock proved of an earlier session says nothing of this one. */
inline begin(x) {
  alive[x] = 1; proven[x] = 0;
#ifndef WITHOUT_LOCK_NAMES_SESSION
  lock_proves[SIBLING(x)] = 0
#endif
}
/* The lock is free once the process that held it has ended. */
inline take_lock(x) {
#ifndef WITHOUT_LOCK_HELD
  tail[SIBLING(x)] = 0;
#endif
  lock_proves[x] = 1
}
/* A number is used again when nothing is left of the session that had it. */
#define UNUSED(x) (!alive[x] && tail[x] == 0 && !(record != FORCED && named == (x)))

#define SELF (_pid + 1)
#define MAY_GIVE(x) (alive[x] && record == LEADER && named == (x) && leads[x] && holds[x] == 0 && give == 0)

active [S] proctype Session() {
end:
  do
  :: d_step { UNUSED(SELF) && !alive[SIBLING(SELF)] -> REACHED("session begins"); s = SELF; begin(s); done() }
  :: d_step { SIBLING(SELF) != 0 && UNUSED(SELF) && !alive[SIBLING(SELF)] ->
       REACHED("session begins under the directory's lock"); s = SELF; begin(s); take_lock(s); done() }

  /* Its lease runs out, is revoked early, or nobody proved anything. */
  :: d_step { alive[SELF] -> REACHED("session ends unproven"); s = SELF; die(s); done() }
  :: d_step { alive[SELF] -> REACHED("process proven dead"); s = SELF; die_proven(s); done() }
  :: d_step { SIBLING(SELF) != 0 && alive[SIBLING(SELF)] && UNUSED(SELF) ->
       REACHED("member key taken over"); s = SELF; die_proven(SIBLING(s)); begin(s); done() }

  /* Learns that nobody leads by the present record: late, or never. */
  :: d_step { alive[SELF] && !learnt[SELF] && SEES_VACANCY ->
       REACHED("vacancy learnt"); s = SELF; learnt[s] = 1; waited[s] = 0; done() }
#ifdef WITHOUT_WAIT_PER_RECORD
  :: d_step { alive[SELF] && learnt[SELF] && IN_FORCE -> s = SELF; learnt[s] = 0; waited[s] = 0; done() }
#endif
  :: d_step { outdated[SELF] -> REACHED("config learnt"); s = SELF; outdated[s] = 0; done() }

  :: d_step { alive[SELF] && learnt[SELF] && !claim[SELF] && (!MUST_WAIT(SELF) || THINKS_OFF(SELF)) ->
       REACHED("claim sent");
       s = SELF;
       claim[s] = 1;
       claim_config[s] = !outdated[s];
       claim_late[s] = !MUST_WAIT(s);
       done() }
  /* Guards: the record's mod revision, its session is dead, the claimer's lives, the config's mod revision. */
  :: d_step { claim[SELF] && !IN_FORCE && CLAIM_CONFIG(SELF) ->
       REACHED("claim lands");
       s = SELF;
       assert(!on || claim_late[s]); /* once it is set, nobody claims without a wait */
       leads[s] = 1;
#ifdef WITHOUT_WAIT_THEN_CLAIM
       holds[s] = (EXEMPT(s) || waited[s] >= D -> 0 : D);
#endif
       put_record(s, LEADER);
       done() }

  /* Asks the application to release, and then gives the shard away. */
  :: d_step { MAY_GIVE(SELF) ->
       REACHED("resigns after a release"); s = SELF; stop(s, 0); give = RESIGN_RELEASED; done() }
  :: d_step { MAY_GIVE(SELF) ->
       REACHED("resigns without a release"); s = SELF; stop(s, D); give = RESIGN_LATE; done() }
  :: d_step { alive[SELF] && named != SELF && MAY_GIVE(named) ->
       REACHED("transfer to this session, after a release");
       s = SELF; stop(named, 0); give = s; give_config = !outdated[named]; done() }
#if defined(CHANGES) || defined(WITHOUT_LATE_RELEASE_VOID)
  :: d_step { alive[SELF] && named != SELF && MAY_GIVE(named) && MAY_TRANSFER_LATE ->
       REACHED("transfer to this session, without a release");
       s = SELF; stop(named, D); give = s + TRANSFER_LATE; give_config = !outdated[named]; done() }
#endif
  /* Gives it up, and is told that nothing will come of it: leads again. */
  :: d_step { give != 0 && named == SELF && alive[SELF] ->
       REACHED("giving given up"); s = SELF; give = 0; give_config = 0; leads[s] = 1; tail[s] = 0; done() }
  od
}

active proctype Record() {
end:
  do
  :: d_step { give == RESIGN_RELEASED -> REACHED("resignation lands"); put_record(named, RELEASED); done() }
  :: d_step { give == RESIGN_LATE ->
       REACHED("resignation without a release lands"); put_record(named, RESIGNED); done() }
  :: d_step { give != 0 && give <= S && alive[give] && GIVE_CONFIG ->
       REACHED("transfer lands"); s = give; leads[s] = 1; put_record(s, LEADER); done() }
#if defined(CHANGES) || defined(WITHOUT_LATE_RELEASE_VOID)
  :: d_step { give > S && give <= 2 * S + 1 && alive[give - S - 1] && GIVE_CONFIG ->
       REACHED("transfer without a release lands");
       s = give - S - 1; leads[s] = 1; put_record(s, LEADER); done() }
#endif
  :: d_step { !IN_FORCE && record != FORCED ->
       REACHED("record force-released"); put_record(0, FORCED); done() }
  /* The node that asks for it knows that what led has stopped. */
  :: d_step { !IN_FORCE && record != FORCED && named != 0 &&
              (IN_ORDER || PROVEN || LOCK_PROVES(SIBLING(named))) ->
       REACHED("record of one that has stopped force-released"); put_record(0, RELEASED); done() }
  od
}

/* One rate for all clocks. */
active proctype Clock() {
end:
  do
  :: d_step { true ->
       REACHED("tick");
       s = 1;
       do
       :: s <= S ->
          tail[s] = (tail[s] > 0 -> tail[s] - 1 : 0);
          holds[s] = (holds[s] > 0 -> holds[s] - 1 : 0);
          waited[s] = (learnt[s] && waited[s] < D -> waited[s] + 1 : waited[s]);
          s++
       :: else -> break
       od;
       settling = (settling > 0 -> settling - 1 : 0);
       done() }
  od
}

#ifdef CHANGES
inline change_config() {
  give_config = 0;
  s = 1;
  do
  :: s <= S -> claim_config[s] = 0; outdated[s] = 1; s++
  :: else -> break
  od
}
active proctype Operator() {
end:
  do
  :: d_step { on -> REACHED("turned off"); change_config(); on = 0; settling = 0; done() }
  :: d_step { !on -> REACHED("turned on"); change_config(); on = 1; settling = D; done() }
  od
}
#endif
