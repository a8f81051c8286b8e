-- Dekker's mutual exclusion for two processes, on sequentially consistent memory.
--
-- Models:  the algorithm of T. J. Dekker, as E. W. Dijkstra gives it in "Cooperating sequential
--          processes", 1965. Each access to a shared variable is one step.
-- Sizes:   none: there are two processes.
-- Checks:  at most one process is in the critical section; no state is without a way on.
-- Wrong:   --const BUG=1  a process looks at the flag of the other before it sets its own.

const
  BUG: 0;

type
  Process: 0..1;
  Place: enum {
    Idle,             -- Outside. Next: set the flag.
    Look,             -- Read the flag of the other.
    AskTurn,          -- Both want to enter: read the turn.
    GiveWay,          -- It is the turn of the other: clear the flag.
    AwaitTurn,        -- Read the turn until it comes.
    Retry,            -- Set the flag again.
    Critical,         -- Inside. Next: give the turn away.
    Leave             -- Clear the flag.
  };

var
  place: array [Process] of Place;

  -- Shared.
  flag: array [Process] of boolean;
  turn: Process;

ruleset first: Process do
  startstate "nobody wants to enter"
    for p: Process do
      place[p] := Idle;
      flag[p] := false;
    end;
    turn := first;
  end;
end;

ruleset p: Process do
  alias other: 1 - p do

    rule "want to enter" place[p] = Idle ==>
      if BUG = 0 then
        flag[p] := true;
        place[p] := Look;
      elsif !flag[other] then
        place[p] := Retry;
      end;
    end;

    rule "look" place[p] = Look ==>
      place[p] := flag[other] ? AskTurn : Critical;
    end;

    rule "ask for the turn" place[p] = AskTurn ==>
      place[p] := turn = p ? Look : GiveWay;
    end;

    rule "give way" place[p] = GiveWay ==>
      flag[p] := false;
      place[p] := AwaitTurn;
    end;

    rule "await the turn" place[p] = AwaitTurn & turn = p ==>
      place[p] := Retry;
    end;

    rule "retry" place[p] = Retry ==>
      flag[p] := true;
      place[p] := BUG = 1 ? Critical : Look;
    end;

    rule "give the turn away" place[p] = Critical ==>
      turn := other;
      place[p] := Leave;
    end;

    rule "leave" place[p] = Leave ==>
      flag[p] := false;
      place[p] := Idle;
    end;

  end;
end;

invariant "mutual exclusion"
  forall p: Process do
    place[p] = Critical -> place[1 - p] != Critical
  end;
