# For mix projects that depend on the package; rebar3 projects use rebar.config.
defmodule Mix.Tasks.Compile.PyusdtNative do
  use Mix.Task.Compiler

  def run(_) do
    {text, status} = System.cmd("make", ["-s", "native"], stderr_to_stdout: true)
    if status != 0, do: Mix.raise("pyusdt: its library cannot be built:\n" <> text)
    Mix.Project.build_structure() # links priv/, which is new
    :ok
  end
end

defmodule Pyusdt.MixProject do
  use Mix.Project

  def project do
    [
      app: :pyusdt,
      version: "0.1.0",
      language: :erlang,
      description: "DTrace-style probes for Erlang, without a rebuilt emulator",
      compilers: [:pyusdt_native | Mix.compilers()],
      package: [licenses: ["Apache-2.0"], links: %{}, build_tools: ["make", "mix", "rebar3"]],
      deps: []
    ]
  end

  def application do
    [mod: {:pyusdt_app, []}, registered: [:pyusdt_app, :pyusdt_instrument_server, :pyusdt_profile, :pyusdt_vm_server, :erltrace_monitor]]
  end
end
