-- Peterson's filter lock for N processes.
--
-- Models:  G. L. Peterson, "Myths about the mutual exclusion problem", Information Processing
--          Letters 12 (3), 1981, in the general form with N - 1 levels. A process waits at each
--          level until it is not the last one that came to it, or until no other process is at
--          this level or above. The others are looked at one by one, in any order.
-- Memory:  sequentially consistent; each access to a shared variable is one step.
-- Sizes:   N processes.
-- Checks:  at most one process is in the critical section, and the lemma behind it: at most
--          N - L processes are past the wait of level L.
-- Wrong:   --const BUG=1  a process becomes the last of a level before it enters the level.
--          --const BUG=2  there is one level less than needed.

const
  N: 3;
  BUG: 0;

type
  Process: scalarset(N);
  Level: 0..N - 1;              -- 0: not interested.
  Place: enum {Idle, Enter, MarkLast, Wait, Critical};

var
  place: array [Process] of Place;
  target: array [Process] of Level;                           -- The level a process is getting to.
  looked: array [Process] of array [Process] of boolean;      -- Whom a waiting process found below.

  -- Shared.
  level: array [Process] of Level;
  last: array [Level] of Process;

function levels(): Level;
begin
  return BUG = 2 ? N - 2 : N - 1;
end;

procedure begin_to_wait(p: Process);
begin
  for q: Process do
    looked[p][q] := p = q;
  end;
  place[p] := Wait;
end;

procedure stop_waiting(p: Process);
begin
  for q: Process do
    looked[p][q] := false;
  end;
  if target[p] = levels() then
    place[p] := Critical;
  else
    target[p] := target[p] + 1;
    place[p] := BUG = 1 ? MarkLast : Enter;
  end;
end;

startstate "nobody is interested"
  for p: Process do
    place[p] := Idle;
    target[p] := 0;
    level[p] := 0;
    for q: Process do
      looked[p][q] := false;
    end;
  end;
  undefine last;
end;

ruleset p: Process do
  rule "begin" place[p] = Idle ==>
    target[p] := 1;
    place[p] := BUG = 1 ? MarkLast : Enter;
  end;

  rule "enter the level" place[p] = Enter ==>
    level[p] := target[p];
    if BUG = 1 then
      begin_to_wait(p);
    else
      place[p] := MarkLast;
    end;
  end;

  rule "become the last of the level" place[p] = MarkLast ==>
    last[target[p]] := p;
    if BUG = 1 then
      place[p] := Enter;
    else
      begin_to_wait(p);
    end;
  end;

  rule "another became the last" place[p] = Wait & last[target[p]] != p ==>
    stop_waiting(p);
  end;

  ruleset q: Process do
    rule "the other is below" place[p] = Wait & !looked[p][q] & level[q] < target[p] ==>
      looked[p][q] := true;
    end;
  end;

  rule "all others are below" place[p] = Wait & forall q: Process do looked[p][q] end ==>
    stop_waiting(p);
  end;

  rule "leave" place[p] = Critical ==>
    level[p] := 0;
    target[p] := 0;
    place[p] := Idle;
  end;
end;

invariant "mutual exclusion"
  forall p: Process do
    place[p] = Critical -> forall q: Process do q != p -> place[q] != Critical end
  end;

-- Some process is left behind at each level that a process is past.
ruleset l: 1..N - 1 do
  invariant "one is left behind at each level"
    BUG = 0 -> !forall p: Process do place[p] = Critical | target[p] > l end;
end;
