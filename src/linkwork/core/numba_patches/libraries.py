"""Code of subroutines: one module each, linked once, into the kernel that uses it.

Numba links into every function all that it calls, which links in all that it calls, and so on at each level up. Here a
subroutine keeps its own code alone; a kernel links in each subroutine that it reaches once, and optimizes the whole.
Private parts of Numba are used; `numba_patches` tries them before the first kernel is compiled.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from numba.core.codegen import JITCodeLibrary


class SubroutineLibrary(JITCodeLibrary):
    """Code of one subroutine, without machine code and without that of the subroutines it calls."""

    _own: Any = None  # LLVM's module of the subroutine alone

    def add_ir_module(self, ir_module: Any) -> None:
        for function in ir_module.functions:
            if function.blocks and not function.linkage:
                function.linkage = "linkonce_odr"  # may be there several times, goes away where nobody calls it
        module = llvm.parse_assembly(str(ir_module).encode().decode("latin1"))  # names may have other letters
        module.data_layout = self._codegen._data_layout
        self._simplify(module)
        if self._own is None:
            self._own = module
        else:
            self._own.link_in(module)

    def _simplify(self, module: Any) -> None:
        """Variables into registers, and what follows from that at once: a third of the size.

        All the rest is done once, when the subroutine is part of a kernel. Doing it here as well took longer and gave
        the same.
        """
        builder = self._codegen._pass_builder()
        passes = llvm.create_new_function_pass_manager()
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def finalize(self) -> None:
        self._finalized = True

    def get_function(self, name: str) -> Any:
        return self._own.get_function(name)

    def _get_module_for_linking(self) -> Any:
        """For functions that Numba compiles its own way: the subroutine with all that it calls."""
        if self._shared_module is None:
            self._final_module = self._own.clone()
            _link_all(self)
            self._shared_module = self._final_module
        return self._shared_module


class KernelLibrary(JITCodeLibrary):
    """Code of a kernel and of all subroutines that it reaches."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """Nothing yet: all is optimized together when subroutines are in."""
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        self._codegen._check_llvm_bugs()
        self._raise_if_finalized()
        own = {function.name for function in self._final_module.functions if not function.is_declaration}
        _link_all(self)
        self._optimize_final_module()
        for function in self._final_module.functions:
            # Names of subroutines are counted per process: those of kernels that two processes compiled may be the same.
            if not function.is_declaration and function.name not in own:
                function.linkage = "internal"
        self._final_module.verify()
        self._finalize_final_module()


def _link_all(library: Any) -> None:
    """Links in what `library` reaches, callers before what they call: nothing is linked before it is asked for."""
    linked: set[Any] = set()
    waiting = list(library._linking_libraries)
    while waiting:
        other = waiting.pop(0)
        if other in linked:
            continue
        linked.add(other)
        library._reload_init.update(other._reload_init)
        if isinstance(other, SubroutineLibrary):
            library._final_module.link_in(other._own, preserve=True)
            waiting += other._linking_libraries
        else:
            library._final_module.link_in(other._get_module_for_linking(), preserve=True)
