var count: 0..3;

startstate
  count := 0;
end;

rule "up"
  coutn < 3
==>
  count := count + true;
end;
