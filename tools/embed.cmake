# Embedding text files into the library.
#
# Included: clpallas_embed(target symbol file...) adds to target a generated C file that defines
#     const clpi_embedded <symbol>[];            /* base/embed.h; one row per file, in order; ends with a row of NULL */
# Files are named relative to the calling folder. Run as a script (cmake -P, with SYMBOL, OUTPUT and FILES): writes that
# C file. The bytes stand as numbers: a string literal may not be longer than 4095 characters in portable C.

if(CMAKE_SCRIPT_MODE_FILE)
    set(arrays "")
    set(rows "")
    set(i 0)
    foreach(file IN LISTS FILES)
        get_filename_component(name "${file}" NAME)
        file(READ "${file}" hex HEX)
        string(LENGTH "${hex}" n_digits)
        math(EXPR n_bytes "${n_digits} / 2")
        string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
        string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n    " bytes "${bytes}")
        string(APPEND arrays "static const unsigned char text_${i}[] = {\n    ${bytes}0x00\n};\n\n")
        string(APPEND rows "    { \"${name}\", (const char *)text_${i}, ${n_bytes} },\n")
        math(EXPR i "${i} + 1")
    endforeach()
    file(WRITE "${OUTPUT}" "#include \"base/embed.h\"\n\n${arrays}"
        "extern const clpi_embedded ${SYMBOL}[];\n\nconst clpi_embedded ${SYMBOL}[] = {\n${rows}    { 0, 0, 0 }\n};\n")
    return()
endif()

set(CLPALLAS_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE} CACHE INTERNAL "")

function(clpallas_embed target symbol)
    set(files "")
    foreach(file IN LISTS ARGN)
        get_filename_component(path ${file} ABSOLUTE)
        list(APPEND files ${path})
    endforeach()
    set(output ${CMAKE_CURRENT_BINARY_DIR}/embed_${symbol}.c)
    add_custom_command(OUTPUT ${output}
        COMMAND ${CMAKE_COMMAND} -DSYMBOL=${symbol} -DOUTPUT=${output} "-DFILES=${files}" -P ${CLPALLAS_EMBED_SCRIPT}
        DEPENDS ${files} ${CLPALLAS_EMBED_SCRIPT}
        COMMENT "Embedding ${symbol}" VERBATIM)
    # A target of its own makes the generated file known outside the folder that makes it.
    add_custom_target(embed_${symbol} DEPENDS ${output})
    add_dependencies(${target} embed_${symbol})
    target_sources(${target} PRIVATE ${output})
    set_property(SOURCE ${output} TARGET_DIRECTORY ${target} PROPERTY GENERATED TRUE)
endfunction()
