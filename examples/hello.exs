# The smallest Elixir program with probes: three events, with a tag. Elixir's strings are binaries, which probes take.
:pyusdt.put_tag("früchte")

for {name, n} <- Enum.with_index(["Apfel", "Birne", "Quitte"], 1) do
  :pyusdt.p(n, String.length(name), name)
end
