"""What pydtrace says about its own options: dtrace(1)'s text, line by line."""

PROGRAM = "dtrace"  # what messages begin with, so that scripts that read them keep working
VERSION = "2.0.7"  # of dtrace's D, which this follows

_PREDICATE_ACTION = "[[ predicate ] action ]"
USAGE = f"""\
Usage: {PROGRAM} [-32|-64] [-CeFGhHlqSvVwZ] [-b bufsz] [-c cmd] [-D name[=def]]
\t[-I path] [-L path] [-o output] [-p pid] [-s script] [-U name]
\t[-x opt[=val]] [-X a|c|s|t]

\t[-P provider {_PREDICATE_ACTION}]
\t[-m [ provider: ] module {_PREDICATE_ACTION}]
\t[-f [[ provider: ] module: ] func {_PREDICATE_ACTION}]
\t[-n [[[ provider: ] module: ] func: ] name {_PREDICATE_ACTION}]
\t[-i probe-id {_PREDICATE_ACTION}] [ args ... ]

\tpredicate -> '/' D-expression '/'
\t   action -> '{{' D-statements '}}'

\t-32 generate 32-bit D programs and ELF files
\t-64 generate 64-bit D programs and ELF files

\t-b  set trace buffer size
\t-c  run specified command and exit upon its completion
\t-C  run cpp(1) preprocessor on script files
\t-D  define symbol when invoking preprocessor
\t-e  exit after compiling request but prior to enabling probes
\t-f  enable or list probes matching the specified function name
\t-F  coalesce trace output by function
\t-G  generate an ELF file containing embedded dtrace program
\t-h  generate a header file with definitions for static probes
\t-H  print included files when invoking preprocessor
\t-i  enable or list probes matching the specified probe id
\t-I  add include directory to preprocessor search path
\t-l  list probes matching specified criteria
\t-L  add library directory to library search path
\t-m  enable or list probes matching the specified module name
\t-n  enable or list probes matching the specified probe name
\t-o  set output file
\t-p  grab specified process-ID and cache its symbol tables
\t-P  enable or list probes matching the specified provider name
\t-q  set quiet mode (only output explicitly traced data)
\t-s  enable or list probes according to the specified D script
\t-S  print D compiler intermediate code
\t-U  undefine symbol when invoking preprocessor
\t-v  set verbose mode (report stability attributes, arguments)
\t-V  report DTrace API version
\t-w  permit destructive actions
\t-x  enable or modify compiler and tracing options
\t-X  specify ISO C conformance settings for preprocessor
\t-Z  permit probe descriptions that match zero probes
"""
