/* Guards: how a node's death is known in milliseconds. The lock file, restarts, guards and etcd, for exhaustive search
 * by SPIN.
 *
 * Node N's processes start one after another, and compete if they start without the lock. Guards wait for the lock
 * file's lock. Another node, O, claims N's shard when N's session is gone. README.md says what is left out and why.
 *
 *   -DP=3               processes of node N
 *   -DCHANGES=1         how often a process ends its session and opens another one
 *   -DG=2               guards
 *   -DEXTERNAL          for some processes another one acts, which lives on when they die
 *   -DCLOSES            an embedding program may close the lock file's descriptor
 *   -DLATE_GRANT        one grant of a lease may land once more after the lease has ended
 *   -DNAMED             the file names each session that a guard may have to end
 *   -DLIVENESS          when all processes are dead, the shard becomes O's and the member key goes; no lease has to run out
 *   -DBACK              when all processes but the last are dead, it becomes a member in the end
 *   -DWITHOUT_<rule>    one rule is missing: a counterexample is expected
 *   -DBEFORE_NAMING     with CLOSES: only while the file does not name the process's session
 *
 * A step is one d_step: what one process does upon one message, or etcd's commit of one transaction.
 */
#ifndef P
#define P 3
#endif
#ifndef CHANGES
#define CHANGES 0
#endif
#ifndef G
#define G 2
#endif

/* Process p has session p, and after a change session P + p. */
#if CHANGES > 0
#define S (2 * P)
#else
#define S P
#endif
#define OWNER(s) (((s) - 1) % P + 1)
#define OTHER (S + 1) /* the record names node O */
#define NOBODY_LIVING (S + 2) /* the record names a session that nothing can bring back */
#define LEASELESS (S + 3) /* the member key is there and hangs on no lease */

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

byte key;            /* the session whose lease N's member key hangs on; 0: no key */
byte record = OTHER; /* the session that the shard's record names */
bit lease[S + 1];

/* ---- the lock file ----------------------------------------------------------------------------- */

byte holder;  /* the process that has the exclusive lock */
byte sharing; /* how many guards have the shared lock */

byte current;  /* the session that the file names; 0: none yet */
byte previous; /* a session before it, whose end is not definite */
bit outlives;  /* `external`: another process acts in the current session */

/* ---- processes --------------------------------------------------------------------------------- */

byte life[P + 1];
#define UNBORN 0
#define RUNS 1
#define DEAD 2

byte session[P + 1];
bit leads[S + 1];  /* the session's process, or its external application, believes that it leads */
bit member[S + 1]; /* its process knows that its member key is there */

#ifdef EXTERNAL
bit external[P + 1];
#define IS_EXTERNAL(p) external[p]
#else
#define IS_EXTERNAL(p) false
#endif
#ifdef CLOSES
bit closed[P + 1]; /* the lock file's descriptor is closed, or another file */
#define IS_CLOSED(p) closed[p]
#else
#define IS_CLOSED(p) false
#endif
#if CHANGES > 0
bit changed[P + 1];
byte changes;
#define IS_CHANGED(p) changed[p]
#else
#define IS_CHANGED(p) false
#endif

/* Whether the process thinks that it has the exclusive lock. */
#ifdef WITHOUT_KEPT_LOCK
#define LOCKED(p) (holder == (p) || closed[p])
#else
#define LOCKED(p) (holder == (p))
#endif

/* ---- on their way: what was sent may land later, never, or any number of times ------------------ */

byte put[S + 1]; /* the session's member key: what it replaces */
#define UNSENT 0
#define NOTHING (S + 4) /* a creation */

bit deletion[S + 1];   /* a guard's transaction */
bit revocation[S + 1]; /* of the session's lease */

#ifdef LATE_GRANT
byte late_grants = 1;
#define GRANT_LEFT (late_grants > 0)
#else
#define GRANT_LEFT false
#endif

bit unproven; /* some member key was put for a session that the file did not name: its lease has to run out */

/* ---- guards ------------------------------------------------------------------------------------ */

byte phase[G];
#define WAITS 0
#define HAS_READ 1 /* and has the shared lock */
#define LET_GO 2
#define SENT 3     /* the deletion; its answer is awaited */
#define REVOKING 4
#define GUARD_DEAD 5
byte ends[G];      /* the sessions that it read in the file */
byte ends_too[G];

/* ---- rules ------------------------------------------------------------------------------------- */

#ifdef WITHOUT_EXCLUSIVE
#define MAY_NAME(p) true
#else
#define MAY_NAME(p) LOCKED(p)
#endif
/* The file has room for one session besides the current one: the ends of all others must be definite. */
#define UNSETTLED(s) ((s) != 0 && lease[s])
#ifdef WITHOUT_SETTLING
#define HAS_ROOM true
#else
#define HAS_ROOM (!(UNSETTLED(current) && !outlives && UNSETTLED(previous)))
#endif
/* A write to another file seems to be done. */
#ifdef WITHOUT_DESCRIPTOR_CHECK
#define UNCHECKED(p) IS_CLOSED(p)
#else
#define UNCHECKED(p) false
#endif
#if defined(WITHOUT_NAME_FIRST) || defined(WITHOUT_EXCLUSIVE)
#define MAY_PUT(p) true
#else
#define MAY_PUT(p) (current == session[p] || !LOCKED(p) || UNCHECKED(p))
#endif
/* The proof for process p that session s is dead, once it has named its own. */
#ifdef WITHOUT_PROOF_BY_LOCK
#define PROVEN(p, s) ((s) != 0 && (s) != session[p] && ((s) == previous || (s) == current) && !outlives)
#else
#define PROVEN(p, s) ((s) != 0 && LOCKED(p) && current == session[p] && (s) == previous)
#endif
/* Builds before the guard took a key without a lease for another node's. */
#ifdef WITHOUT_DELETION_OLDER
#define TAKES_LEASELESS false
#else
#define TAKES_LEASELESS (key == LEASELESS)
#endif
#ifdef WITHOUT_TAKEOVER_COMPARE
#define MAY_REPLACE(s) (key != 0)
#else
#define MAY_REPLACE(s) (key == put[s])
#endif
#ifdef WITHOUT_DELETION_COMPARE
#define MAY_DELETE(s) (key != 0)
#else
#define MAY_DELETE(s) (key == (s))
#endif
#ifdef WITHOUT_SETTLED_CLEAR
#define MAY_CLEAR true
#else
#define MAY_CLEAR (!lease[previous])
#endif
#ifdef WITHOUT_EXTERNAL_FLAG
#define OUTLIVES false
#else
#define OUTLIVES outlives
#endif

/* ---- after each step --------------------------------------------------------------------------- */

#ifdef BREADTH_FIRST
#define SCRATCH byte
#else
#define SCRATCH hidden byte
#endif
SCRATCH p, s, g, kept;

/* A session whose process is gone, and whose key may be there or may land. (The process of an ended one revokes it.) */
#define LEFT(s) (lease[s] && put[s] != UNSENT && session[OWNER(s)] != (s) && \
                 !(life[OWNER(s)] == RUNS && IS_CHANGED(OWNER(s))))

/* While somebody acts, the session's member key is there and the record names it. */
inline check() {
  s = 1;
  do
  :: s <= S ->
#if !defined(LIVENESS) && !defined(BACK)
     assert(!leads[s] || (key == s && record == s));
#endif
#ifdef NAMED
     assert(!LEFT(s) || unproven || s == current || s == previous);
#endif
     /* A write that was sent for a session without a lease never lands: forget it, to have fewer states. */
     if
     :: !lease[s] && !leads[s] && !GRANT_LEFT ->
        put[s] = UNSENT; member[s] = 0; deletion[s] = 0; revocation[s] = 0;
        if :: record == s && key != s -> record = NOBODY_LIVING :: else fi
     :: else
     fi;
     s++
  :: else -> break
  od
}

inline done() { check(); p = 0; s = 0; g = 0; kept = 0 }

/* ---- etcd's commits ---------------------------------------------------------------------------- */

inline delete(x) {
  if
  :: x != 0 && MAY_DELETE(x) ->
#if defined(WITHOUT_DELETION) || defined(WITHOUT_DELETION_OLDER)
     key = LEASELESS
#else
     key = 0
#endif
  :: else
  fi
}
inline revoke(x) {
  if
  :: x != 0 ->
     lease[x] = 0;
     if :: key == x -> key = 0 :: else fi
  :: else
  fi
}

/* ---- what a process does ----------------------------------------------------------------------- */

inline die(x) {
  life[x] = DEAD;
  if :: holder == x -> holder = 0 :: else fi;
  if :: session[x] != 0 && !IS_EXTERNAL(x) -> leads[session[x]] = 0 :: else fi;
  session[x] = 0;
#ifdef CLOSES
  closed[x] = 0;
#endif
}

/* Stops, and has the lease revoked. */
inline end_session(x) {
  leads[session[x]] = 0;
  revocation[session[x]] = 1;
  session[x] = 0
}

#define SELF (_pid + 1)
#define OWN session[SELF]
#define MAY_BEGIN(x) (life[x] == UNBORN && ((x) == 1 || life[(x) - 1] != UNBORN))
/* Its ended session's lease is gone before it opens another one. */
#define OPENS (life[SELF] == RUNS && OWN == 0 && !(IS_CHANGED(SELF) && lease[SELF]))
#define NAMES (life[SELF] == RUNS && OWN != 0 && MAY_NAME(SELF) && current != OWN && HAS_ROOM)
#define CLEARS (OWN != 0 && member[OWN] && LOCKED(SELF) && current == OWN && previous != 0 && MAY_CLEAR)

active [P] proctype Process() {
end:
  do
  /* The lock: got; or guards have it, and the process goes on without. */
  :: d_step { MAY_BEGIN(SELF) && holder == 0 && sharing == 0 ->
       REACHED("begins with the lock"); p = SELF; life[p] = RUNS; holder = p; done() }
#ifndef WITHOUT_UNNAMED_START
  :: d_step { MAY_BEGIN(SELF) && holder == 0 && sharing > 0 ->
       REACHED("begins without the lock"); p = SELF; life[p] = RUNS; done() }
#endif
#ifdef EXTERNAL
  :: d_step { MAY_BEGIN(SELF) && holder == 0 && sharing == 0 ->
       REACHED("external begins with the lock");
       p = SELF; life[p] = RUNS; holder = p; external[p] = 1; done() }
  :: d_step { MAY_BEGIN(SELF) && holder == 0 && sharing > 0 ->
       REACHED("external begins without the lock"); p = SELF; life[p] = RUNS; external[p] = 1; done() }
#endif
  :: d_step { life[SELF] == RUNS && !IS_CLOSED(SELF) && holder == 0 && sharing == 0 ->
       REACHED("gets the lock late"); p = SELF; holder = p; done() }

  :: d_step { OPENS ->
       REACHED("lease granted");
       p = SELF; session[p] = (IS_CHANGED(p) -> P + p : p); lease[session[p]] = 1; done() }

  /* Found two sessions in the file whose ends are not definite: it ends one of them. */
  :: d_step { life[SELF] == RUNS && LOCKED(SELF) && current != OWN && !HAS_ROOM && !revocation[previous] ->
       REACHED("previous session revoked"); p = SELF; revocation[previous] = 1; done() }
#if P > 2 /* of two processes, it is its own, whose end it has begun already */
  :: d_step { life[SELF] == RUNS && LOCKED(SELF) && current != OWN && !HAS_ROOM && !revocation[current] ->
       REACHED("current session revoked"); p = SELF; revocation[current] = 1; done() }
#endif
  :: d_step { life[SELF] == RUNS && LOCKED(SELF) && current != OWN && !HAS_ROOM && revocation[previous] ->
       REACHED("previous session's revocation answered"); p = SELF; revoke(previous); done() }
  :: d_step { life[SELF] == RUNS && LOCKED(SELF) && current != OWN && !HAS_ROOM && revocation[current] ->
       REACHED("current session's revocation answered"); p = SELF; revoke(current); done() }

  /* Names its session in the file. Each write first checks the descriptor. */
  :: d_step { NAMES && !IS_CLOSED(SELF) ->
       REACHED("session named");
       p = SELF;
       kept = 0;
#ifndef WITHOUT_PREVIOUS
       if :: UNSETTLED(previous) -> kept = previous :: else fi;
#ifdef WITHOUT_PREVIOUS_EXTERNAL
       if :: UNSETTLED(current) -> kept = current :: else fi;
#else
       if :: UNSETTLED(current) && !outlives -> kept = current :: else fi;
#endif
#endif
       previous = kept;
       current = session[p];
       outlives = IS_EXTERNAL(p);
       done() }
  :: d_step { life[SELF] == RUNS && CLEARS && !IS_CLOSED(SELF) ->
       REACHED("previous session cleared"); p = SELF; previous = 0; done() }
#ifdef CLOSES
#ifndef WITHOUT_DESCRIPTOR_CHECK
  :: d_step { IS_CLOSED(SELF) && (NAMES || CLEARS) ->
       REACHED("descriptor found closed"); p = SELF; end_session(p); die(p); done() }
#endif
#ifdef BEFORE_NAMING
  :: d_step { life[SELF] == RUNS && LOCKED(SELF) && !closed[SELF] && OWN != current &&
              !(OWN != 0 && put[OWN] != UNSENT) ->
#else
  :: d_step { life[SELF] == RUNS && LOCKED(SELF) && !closed[SELF] ->
#endif
       REACHED("descriptor closed");
       p = SELF;
       closed[p] = 1;
#ifdef WITHOUT_KEPT_LOCK
       holder = 0;
#endif
       done() }
#endif

  /* The member key: created, or put over one whose session is proven dead. */
  :: d_step { life[SELF] == RUNS && OWN != 0 && put[OWN] == UNSENT && MAY_PUT(SELF) && !PROVEN(SELF, key) ->
       REACHED("creation sent");
       p = SELF; put[OWN] = NOTHING;
       unproven = unproven || (current != OWN && MAY_PUT(SELF) && !LOCKED(SELF));
       done() }
  :: d_step { life[SELF] == RUNS && OWN != 0 && (put[OWN] == UNSENT || put[OWN] == NOTHING) && key != 0 &&
              key != OWN && MAY_PUT(SELF) && (PROVEN(SELF, key) || TAKES_LEASELESS) ->
       REACHED("takeover sent"); p = SELF; put[OWN] = key; done() }
  :: d_step { life[SELF] == RUNS && OWN != 0 && put[OWN] != UNSENT && put[OWN] != NOTHING && key != put[OWN] &&
              key != OWN ->
       REACHED("takeover refused"); p = SELF; put[OWN] = NOTHING; done() }
  :: d_step { life[SELF] == RUNS && OWN != 0 && put[OWN] == NOTHING && key == 0 && lease[OWN] ->
       REACHED("creation answered"); p = SELF; key = OWN; member[OWN] = 1; done() }
  :: d_step { life[SELF] == RUNS && OWN != 0 && put[OWN] != UNSENT && put[OWN] != NOTHING && key != 0 && key != OWN &&
              MAY_REPLACE(OWN) && lease[OWN] ->
       REACHED("takeover answered"); p = SELF; key = OWN; member[OWN] = 1; done() }
  :: d_step { life[SELF] == RUNS && OWN != 0 && key == OWN && !member[OWN] ->
       REACHED("member key seen"); p = SELF; member[OWN] = 1; done() }

  /* Then the lease that was taken over is revoked. */
  :: d_step { life[SELF] == RUNS && OWN != 0 && member[OWN] && LOCKED(SELF) && current == OWN && UNSETTLED(previous) &&
              !revocation[previous] ->
       REACHED("predecessor revoked"); p = SELF; revocation[previous] = 1; done() }
  :: d_step { life[SELF] == RUNS && OWN != 0 && member[OWN] && LOCKED(SELF) && current == OWN && UNSETTLED(previous) &&
              revocation[previous] ->
       REACHED("predecessor's revocation answered"); p = SELF; revoke(previous); done() }

  :: d_step { life[SELF] == RUNS && OWN != 0 && member[OWN] && record == OWN && !leads[OWN] ->
       REACHED("leads"); p = SELF; leads[OWN] = 1; done() }

#if CHANGES > 0
  /* The session ends, for whatever reason; another one follows. */
  :: d_step { life[SELF] == RUNS && OWN != 0 && !changed[SELF] && changes < CHANGES ->
       REACHED("session ended"); p = SELF; end_session(p); changed[p] = 1; changes++; done() }
  :: d_step { life[SELF] == RUNS && OWN == 0 && changed[SELF] && lease[SELF] ->
       REACHED("ended session's revocation answered"); p = SELF; revoke(p); done() }
#endif

  /* Killed, wherever it is. */
#ifdef BACK
  :: d_step { life[SELF] == RUNS && SELF < P ->
#else
  :: d_step { life[SELF] == RUNS ->
#endif
       REACHED("process dies"); p = SELF; die(p); done() }
  od
}

/* ---- guards ------------------------------------------------------------------------------------ */

#define ME (_pid - P)

active [G] proctype Guard() {
end:
  do
  /* Waits for the shared lock, reads the file under it, and lets the lock go. */
  :: d_step { phase[ME] == WAITS && holder == 0 && current != 0 ->
       REACHED("guard reads");
       g = ME;
       sharing++;
       phase[g] = HAS_READ;
#ifndef WITHOUT_READ_UNDER_LOCK
       if :: !OUTLIVES -> ends[g] = current; ends_too[g] = previous :: else fi;
#endif
       done() }
  :: d_step { phase[ME] == HAS_READ ->
       REACHED("guard lets go"); g = ME; sharing--; phase[g] = LET_GO; done() }
  /* Ends the sessions: the transaction until it is answered, then the revocation. */
  :: d_step { phase[ME] == LET_GO ->
       REACHED("guard sends");
       g = ME;
#ifdef WITHOUT_READ_UNDER_LOCK
       if :: !OUTLIVES -> ends[g] = current; ends_too[g] = previous :: else fi;
#endif
       phase[g] = (ends[g] == 0 -> WAITS : SENT);
       if :: ends[g] != 0 -> deletion[ends[g]] = 1 :: else fi;
       if :: ends_too[g] != 0 -> deletion[ends_too[g]] = 1 :: else fi;
       done() }
  :: d_step { phase[ME] == SENT ->
       REACHED("guard's deletion answered");
       g = ME;
       delete(ends[g]);
       delete(ends_too[g]);
#ifdef WITHOUT_REVOCATION
       phase[g] = WAITS; ends[g] = 0; ends_too[g] = 0;
#else
       phase[g] = REVOKING;
       revocation[ends[g]] = 1;
       if :: ends_too[g] != 0 -> revocation[ends_too[g]] = 1 :: else fi;
#endif
       done() }
  :: d_step { phase[ME] == REVOKING ->
       REACHED("guard's revocation answered");
       g = ME;
       revoke(ends[g]);
       revoke(ends_too[g]);
       phase[g] = WAITS; ends[g] = 0; ends_too[g] = 0;
       done() }
  /* The first one lives. (For safety, dying adds nothing to never going on.) */
#if defined(LIVENESS) || defined(BACK)
  :: d_step { ME > 0 && phase[ME] != GUARD_DEAD ->
       g = ME;
       if :: phase[g] == HAS_READ -> sharing-- :: else fi;
       phase[g] = GUARD_DEAD; ends[g] = 0; ends_too[g] = 0; done() }
#endif
  od
}

/* ---- what lands without anybody waiting for it; leases ------------------------------------------- */

#define LANDS (_pid - P - G + 1)
#define RAN_OUT(s) (lease[s] && session[OWNER(s)] != (s) && !leads[s])

active [S] proctype Late() {
end:
  do
#if defined(LIVENESS) || defined(BACK)
  :: true -> skip /* what nobody waits for need not happen */
#endif
  :: d_step { put[LANDS] == NOTHING && key == 0 && lease[LANDS] ->
       REACHED("creation lands"); s = LANDS; key = s; done() }
  :: d_step { put[LANDS] != UNSENT && put[LANDS] != NOTHING && key != 0 && key != LANDS && MAY_REPLACE(LANDS) &&
              lease[LANDS] ->
       REACHED("takeover lands"); s = LANDS; key = s; done() }
  /* A claim, or a transfer by O: both compare the member key. */
  :: d_step { member[LANDS] && key == LANDS && record != LANDS ->
       REACHED("record names the session"); s = LANDS; record = s; done() }
  :: d_step { deletion[LANDS] && MAY_DELETE(LANDS) -> REACHED("deletion lands"); s = LANDS; delete(s); done() }
  :: d_step { revocation[LANDS] && lease[LANDS] -> REACHED("revocation lands"); s = LANDS; revoke(s); done() }
#ifdef LATE_GRANT
  :: d_step { late_grants > 0 && !lease[LANDS] && life[OWNER(LANDS)] == DEAD ->
       REACHED("late grant lands"); s = LANDS; lease[s] = 1; late_grants--; done() }
#endif
#ifndef BACK
  :: d_step { RAN_OUT(LANDS) -> REACHED("lease runs out"); s = LANDS; revoke(s); done() }
#endif
#ifdef EXTERNAL
  :: d_step { leads[LANDS] && life[OWNER(LANDS)] == DEAD ->
       REACHED("application's deadline passes"); s = LANDS; leads[s] = 0; done() }
#endif
  od
}

#ifdef BACK
#define EXPIRES (_pid - P - G - S + 1)
active [S] proctype Lease() {
end:
  do
  :: d_step { RAN_OUT(EXPIRES) -> s = EXPIRES; revoke(s); done() }
  od
}
#endif

active proctype OtherNode() {
end:
  do
  :: d_step { record != OTHER && (record == NOBODY_LIVING || key != record) ->
       REACHED("O claims"); record = OTHER; done() }
  od
}

#if P == 2
#define OTHERS_DEAD (life[1] == DEAD)
#else
#define OTHERS_DEAD (life[1] == DEAD && life[2] == DEAD)
#endif
#ifdef LIVENESS
ltl live { [] ((OTHERS_DEAD && life[P] == DEAD && !unproven) -> <> [] (record == OTHER && key == 0)) }
#endif
#ifdef BACK
ltl back { [] (OTHERS_DEAD -> <> (key == P || key == 2 * P)) }
#endif
