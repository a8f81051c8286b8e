-- Dekker's mutual exclusion for two processes, on a machine with store buffers.
--
-- Models:  the algorithm of dekker-sc.m on the x86-TSO machine of P. Sewell, S. Sarkar, S. Owens,
--          F. Zappa Nardelli and M. O. Myreen, "x86-TSO: a rigorous and usable programmer's
--          model for x86 multiprocessors", CACM 53 (7), 2010. A store goes to the end of the
--          buffer of its process; a load takes the youngest store to the same variable in its
--          own buffer, or else the memory; the oldest store of a buffer is committed to memory
--          at any time; a fence waits until the buffer is empty.
-- Sizes:   BUFFER stores per buffer. A store waits while the buffer is full.
-- Checks:  at most one process is in the critical section; no state is without a way on.
-- Wrong:   --const FENCES=0  no fences: both loads can overtake both stores of the flags.
--
-- With FENCES: 1 there is a fence wherever a process sets its flag and then looks at the other.

const
  BUFFER: 2;
  FENCES: 1;

type
  Process: 0..1;
  Variable: enum {Flag0, Flag1, Turn};
  Value: 0..1;
  Count: 0..BUFFER;
  Slot: 1..BUFFER;                -- The oldest store is in slot 1.
  Store: record
    variable: Variable;
    val: Value;
  end;
  Place: enum {
    Idle, Fence, Look, AskTurn, GiveWay, AwaitTurn, Retry, Critical, Leave
  };

var
  place: array [Process] of Place;
  memory: array [Variable] of Value;
  buffer: array [Process] of array [Slot] of Store;
  waiting: array [Process] of Count;

function flag_of(p: Process): Variable;
begin
  return p = 0 ? Flag0 : Flag1;
end;

function has_room(p: Process): boolean;
begin
  return waiting[p] < BUFFER;
end;

procedure store(p: Process; x: Variable; v: Value);
begin
  waiting[p] := waiting[p] + 1;
  buffer[p][waiting[p]].variable := x;
  buffer[p][waiting[p]].val := v;
end;

function load(p: Process; x: Variable): Value;
var v: Value;
begin
  v := memory[x];
  for s: Slot do
    if s <= waiting[p] & buffer[p][s].variable = x then
      v := buffer[p][s].val;
    end;
  end;
  return v;
end;

procedure commit(p: Process);
begin
  memory[buffer[p][1].variable] := buffer[p][1].val;
  for s: Slot do
    if s < waiting[p] then
      buffer[p][s] := buffer[p][s + 1];
    end;
  end;
  undefine buffer[p][waiting[p]];
  waiting[p] := waiting[p] - 1;
end;

ruleset first: Process do
  startstate "nobody wants to enter"
    for p: Process do
      place[p] := Idle;
      waiting[p] := 0;
    end;
    undefine buffer;
    memory[Flag0] := 0;
    memory[Flag1] := 0;
    memory[Turn] := first;
  end;
end;

ruleset p: Process do
  alias other: 1 - p do

    rule "commit the oldest store" waiting[p] > 0 ==>
      commit(p);
    end;

    rule "want to enter" place[p] = Idle & has_room(p) ==>
      store(p, flag_of(p), 1);
      place[p] := Fence;
    end;

    rule "fence" place[p] = Fence & (FENCES = 0 | waiting[p] = 0) ==>
      place[p] := Look;
    end;

    rule "look" place[p] = Look ==>
      place[p] := load(p, flag_of(other)) = 1 ? AskTurn : Critical;
    end;

    rule "ask for the turn" place[p] = AskTurn ==>
      place[p] := load(p, Turn) = p ? Look : GiveWay;
    end;

    rule "give way" place[p] = GiveWay & has_room(p) ==>
      store(p, flag_of(p), 0);
      place[p] := AwaitTurn;
    end;

    rule "await the turn" place[p] = AwaitTurn & load(p, Turn) = p ==>
      place[p] := Retry;
    end;

    rule "retry" place[p] = Retry & has_room(p) ==>
      store(p, flag_of(p), 1);
      place[p] := Fence;
    end;

    rule "give the turn away" place[p] = Critical & has_room(p) ==>
      store(p, Turn, other);
      place[p] := Leave;
    end;

    rule "leave" place[p] = Leave & has_room(p) ==>
      store(p, flag_of(p), 0);
      place[p] := Idle;
    end;

  end;
end;

invariant "mutual exclusion"
  forall p: Process do
    place[p] = Critical -> place[1 - p] != Critical
  end;
