defmodule Shop.MixProject do
  use Mix.Project

  def project do
    [app: :shop, version: "0.1.0", deps: [{:pyusdt, path: System.fetch_env!("PYUSDT") <> "/erlang_nif", manager: :rebar3}]]
  end
end
