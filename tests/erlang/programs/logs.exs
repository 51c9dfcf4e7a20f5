# Elixir's Logger, with pyusdt_instrument.
:ok = :pyusdt_instrument.enable(%{parts: [:logger]})

defmodule Shop.Cart do
  require Logger
  def add(n), do: Logger.warning("low on tea #{n}")
end

for n <- 1..20, do: Shop.Cart.add(rem(n, 2))
%{trouble: trouble} = :pyusdt_instrument.info()
IO.puts("trouble #{inspect(trouble)}")
